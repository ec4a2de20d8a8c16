// Turns captured terminals into a picture: tmux capture-pane -e -p | node tools/terminal-picture.mjs > picture.svg
// Several captures with form feeds between them become a recording; the argument is the seconds between two captures.
import { readFileSync } from 'node:fs';

const COLORS = ['#5c6370', '#e06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#dcdfe4'];
const [WIDTH, HEIGHT, MARGIN] = [8.4, 18, 16];
const interval = Number(process.argv[2] ?? 0.5);
/** A style stays in force on the next line until it is changed. */
let look = {};
const frames = readFileSync(0, 'utf8')
  .replace(/\f\s*$/, '')
  .split('\f')
  .map((text) => {
    look = {};
    return text.trimEnd().split('\n').map(spansOf);
  });
const columns = Math.max(
  ...frames.flat().map((spans) => spans.reduce((sum, { text }) => sum + text.length, 0)),
);
const width = Math.ceil(columns * WIDTH + 2 * MARGIN);
const height = Math.max(...frames.map((rows) => rows.length)) * HEIGHT + 2 * MARGIN;

process.stdout.write(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<rect width="100%" height="100%" rx="8" fill="#282c34"/>
<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#dcdfe4">
${frames.length === 1 ? frames[0].map(draw).join('') : recording()}</g>
</svg>
`);

/** Each row is drawn once for as long as it stays the same. Viewers that cannot animate show the last frame. */
function recording() {
  const rows = Math.max(...frames.map((frame) => frame.length));
  let drawn = '';
  for (let row = 0; row < rows; row++) {
    const texts = frames.map((frame) => (frame[row] ? draw(frame[row], row) : ''));
    for (let from = 0, to = 0; from < texts.length; from = to) {
      while (to < texts.length && texts[to] === texts[from]) to++;
      if (texts[from] !== '') drawn += shown(texts[from], from, to);
    }
  }
  return drawn;
}

function shown(text, from, to) {
  if (from === 0 && to === frames.length) return text;
  const steps = [
    [0, from === 0],
    ...(from > 0 ? [[from, true]] : []),
    ...(to < frames.length ? [[to, false]] : []),
  ];
  const values = steps.map(([, visible]) => (visible ? 'visible' : 'hidden')).join(';');
  const times = steps.map(([frame]) => Number((frame / frames.length).toFixed(4))).join(';');
  return `<g visibility="${to === frames.length ? 'visible' : 'hidden'}">${text}<animate attributeName="visibility" values="${values}" keyTimes="${times}" dur="${frames.length * interval}s" calcMode="discrete" repeatCount="indefinite"/></g>\n`;
}

/** Text in pieces of one look each. */
function spansOf(line) {
  const spans = [];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what colours are made of
  for (const [, code, text] of line.matchAll(/\u001b\[([0-9;]*)m|([^\u001b]+)/g)) {
    if (text !== undefined) spans.push({ text, ...look });
    else for (const part of (code || '0').split(';')) look = change(look, Number(part));
  }
  return spans;
}

function change(look, code) {
  if (code === 0) return {};
  if (code === 1) return { ...look, bold: true };
  if (code === 2) return { ...look, dim: true };
  if (code === 22) return { ...look, bold: false, dim: false };
  if (code >= 30 && code <= 37) return { ...look, color: COLORS[code - 30] };
  if (code === 39) return { ...look, color: undefined };
  if (code >= 40 && code <= 47) return { ...look, back: COLORS[code - 40] };
  return code === 49 ? { ...look, back: undefined } : look;
}

function draw(spans, row) {
  let column = 0;
  return spans
    .map(({ text, bold, dim, color, back }) => {
      const x = (MARGIN + column * WIDTH).toFixed(1);
      const y = MARGIN + row * HEIGHT;
      column += text.length;
      const wide = (text.length * WIDTH).toFixed(1);
      const behind = back
        ? `<rect x="${x}" y="${y}" width="${wide}" height="${HEIGHT}" fill="${back}"/>`
        : '';
      const style = [
        color || back ? ` fill="${back && (!color || color === COLORS[0]) ? '#282c34' : color}"` : '',
        bold ? ' font-weight="bold"' : '',
        dim ? ' opacity="0.6"' : '',
      ].join('');
      // Some viewers drop blanks, so that each piece between them has its own place and width.
      const pieces = [...text.matchAll(/\S+(?: \S+)*/g)].map(({ 0: piece, index }) => {
        const at = (Number(x) + index * WIDTH).toFixed(1);
        const escaped = piece.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
        return `<text x="${at}" y="${y + 14}" textLength="${(piece.length * WIDTH).toFixed(1)}"${style}>${escaped}</text>\n`;
      });
      return behind + pieces.join('');
    })
    .join('');
}
