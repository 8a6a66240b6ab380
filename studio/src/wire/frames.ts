// A frame of live data; `src/arterial/studio/frames.py` has the layout.

export type Column = Float64Array | Float32Array | Int32Array | Uint8Array;

export interface Frame {
  channel: number;
  header: Record<string, unknown>;
  columns: Record<string, Column>;
}

/** Rows of a frame: values by column, whatever way they came. */
export interface Rows {
  names: string[];
  height: number;
  value(name: string, row: number): unknown;
}

const ENVELOPE = 8;

export function unpack(buffer: ArrayBuffer): Frame {
  const view = new DataView(buffer);
  const channel = view.getInt32(0, true);
  const length = view.getUint32(ENVELOPE, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, ENVELOPE + 4, length));
  const header = JSON.parse(text) as Record<string, unknown>;
  const begin = ENVELOPE + 4 + length;
  const columns: Record<string, Column> = {};
  const places = (header.columns ?? {}) as Record<string, [string, number, number]>;
  for (const [name, [kind, offset, count]] of Object.entries(places)) {
    columns[name] = column(kind, buffer, begin + offset, count);
  }
  return { channel, header, columns };
}

export function rowsOf(frame: Frame): Rows | null {
  const names = frame.header.names as string[] | undefined;
  if (!names) return null;
  const texts = (frame.header.texts ?? {}) as Record<string, unknown[]>;
  return {
    names,
    height: frame.header.height as number,
    value: (name, row) => (frame.columns[name] ?? texts[name])?.[row],
  };
}

function column(kind: string, buffer: ArrayBuffer, at: number, count: number): Column {
  switch (kind) {
    case "f8":
      return new Float64Array(buffer, at, count);
    case "f4":
      return new Float32Array(buffer, at, count);
    case "i4":
      return new Int32Array(buffer, at, count);
    case "u1":
      return new Uint8Array(buffer, at, count);
    default:
      throw new Error(`a column of the unknown type ${kind}`);
  }
}
