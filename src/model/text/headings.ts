interface Heading {
  /** 1 to 6; 7 for a bold or plain line that serves as one. */
  level: number;
  text: string;
}

const MAX_HEADING = 500;
const ATX = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const BOLD = /^ {0,3}(\*\*|__)(?!\s)(.{1,200}?)\1[ \t]*:?[ \t]*$/;

/** The heading on this line: `## Text`, text underlined by the next line, or a line of bold text alone. */
export function headingAt(lines: readonly string[], index: number): Heading | undefined {
  const line = lines[index] ?? '';
  if (line.length > MAX_HEADING) return undefined;
  const atx = ATX.exec(line);
  if (atx) return { level: atx[1]?.length ?? 1, text: plain(atx[2] ?? '') };
  const bold = BOLD.exec(line);
  if (bold) return { level: 7, text: plain(bold[2] ?? '') };
  const under = UNDERLINE.exec(lines[index + 1] ?? '')?.[1];
  if (under === undefined || !/^ {0,3}(?!\d{1,9}[.)]\s)[^\s>|#*+-]/.test(line)) return undefined;
  return { level: under.startsWith('=') ? 1 : 2, text: plain(line) };
}

/** True for the `===` or `---` below a heading. */
export function isUnderline(line: string): boolean {
  return UNDERLINE.test(line);
}

/** A heading's words: links, and emphasis around all of it, are form. Inside, `__init__` is a name. */
function plain(text: string): string {
  const words = text.replace(/\[([^\][]{0,300})\]\([^()\s]{0,2000}\)/g, '$1').trim();
  return /^(\*\*|__|\*|_)([^*_]+)\1$/.exec(words)?.[2]?.trim() ?? words;
}
