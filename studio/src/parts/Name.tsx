// A name that may break behind its underscores.

import { Fragment } from "react";

export function Name({ text }: { text: string }) {
  return text.split(/(?<=_)/).map((part, place) => <Fragment key={place}>{place > 0 && <wbr />}{part}</Fragment>);
}
