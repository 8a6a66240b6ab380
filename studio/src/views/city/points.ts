// All that moves as points, by one shader: where a point is follows from its last report and the time that is drawn.

import { SILENT, SLIDE, STRIDE, type Fleet } from "./fleet";
import type { Rgb } from "./colours";

export interface Place {
  /** The left and upper end of what is seen, and pixels a unit; a negative scale turns y up. */
  left: number;
  top: number;
  scaleX: number;
  scaleY: number;
}

export interface Look {
  radius: number;
  alpha: number;
}

const VERTEX = `#version 300 es
layout(location = 0) in vec4 seen;
layout(location = 1) in vec4 more;
uniform vec4 place;
uniform vec2 size;
uniform float now;
uniform float radius;
uniform vec3 colours[3];
uniform float alpha;
out vec3 colour;
out float strength;
void main() {
  float since = max(0.0, now - more.x);
  vec2 at = seen.xy + seen.zw * since + more.yz * exp(-${SLIDE.toFixed(1)} * since);
  vec2 pixel = (at - place.xy) * place.zw;
  gl_Position = vec4(pixel.x / size.x * 2.0 - 1.0, 1.0 - pixel.y / size.y * 2.0, 0.0, 1.0);
  if (since > ${SILENT.toFixed(1)}) gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
  int kind = int(more.w);
  gl_PointSize = radius * (kind == 0 ? 1.0 : 1.35);
  colour = colours[kind];
  strength = kind == 0 ? alpha : 0.95;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec3 colour;
in float strength;
out vec4 shown;
void main() {
  float distance = length(gl_PointCoord - 0.5);
  float inside = 1.0 - smoothstep(0.38, 0.5, distance);
  shown = vec4(colour * inside, inside) * strength;
}`;

export class Points {
  private gl: WebGL2RenderingContext;
  private program: WebGLProgram;
  private buffer: WebGLBuffer;
  private held = 0;
  private of: Fleet | null = null;

  constructor(canvas: HTMLCanvasElement) {
    const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
    if (!gl) throw new Error("This browser has no WebGL 2, which draws the vehicles.");
    this.gl = gl;
    this.program = linked(gl);
    this.buffer = gl.createBuffer()!;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    for (const place of [0, 1]) {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 4, gl.FLOAT, false, STRIDE * 4, place * 16);
    }
    gl.useProgram(this.program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Draw a frame; numbers go to the GPU only where they changed. */
  draw(fleet: Fleet, now: number, place: Place, ratio: number, look: Look, colours: Rgb[]) {
    const { gl } = this;
    const { width, height } = gl.canvas;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.upload(fleet);
    const uniform = (name: string) => gl.getUniformLocation(this.program, name);
    gl.uniform4f(uniform("place"), place.left, place.top, place.scaleX * ratio, place.scaleY * ratio);
    gl.uniform2f(uniform("size"), width, height);
    gl.uniform1f(uniform("now"), now - (fleet.base ?? 0));
    gl.uniform1f(uniform("radius"), look.radius * ratio);
    gl.uniform1f(uniform("alpha"), look.alpha);
    gl.uniform3fv(uniform("colours"), colours.flat().map((one) => one / 255));
    gl.drawArrays(gl.POINTS, 0, fleet.size);
  }

  private upload(fleet: Fleet) {
    const { gl } = this;
    if (this.of !== fleet || this.held !== fleet.data.length) {
      gl.bufferData(gl.ARRAY_BUFFER, fleet.data, gl.DYNAMIC_DRAW);
      this.of = fleet;
      this.held = fleet.data.length;
    } else if (fleet.changed) {
      const [from, to] = fleet.changed;
      gl.bufferSubData(gl.ARRAY_BUFFER, from * STRIDE * 4, fleet.data, from * STRIDE, (to - from + 1) * STRIDE);
    }
    fleet.changed = null;
  }
}

function linked(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram()!;
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader) ?? "a shader does not compile");
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "the shaders do not link");
  return program;
}
