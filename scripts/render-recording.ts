/** Output of a terminal. `atMs` is the time since the start of the recording. */
export type RecordedLine = { readonly atMs: number; readonly text: string }

const COLUMNS = 104
const FONT_PX = 13
const CHARACTER_PX = 7.83
const LINE_PX = 19
const PADDING_PX = 16
const TITLE_PX = 34
const PROMPT = '$ '

/**
 * Returns a recording as a file of asciinema: a line with the header, and a line for each event.
 * Source: asciicast file format, version 2.
 */
export function toAsciicast(lines: readonly RecordedLine[], title: string): string {
  const header = { version: 2, width: COLUMNS, height: lines.flatMap(({ text }) => wrap(text)).length, title }
  const events = lines.map(({ atMs, text }) => [atMs / 1_000, 'o', `${text}\r\n`])
  return [header, ...events].map((line) => `${JSON.stringify(line)}\n`).join('')
}

/**
 * Renders an asciicast whose events are complete lines without control sequences. The picture shows the lines at their
 * times, and then all lines. A reader who prefers reduced motion sees all lines at once.
 */
export function renderAsciicast(cast: string): string {
  const [head = '', ...rest] = cast.trimEnd().split('\n')
  const { title } = JSON.parse(head) as { readonly title: string }
  const rows = rest
    .map((line) => JSON.parse(line) as [number, 'o', string])
    .flatMap(([seconds, , text]) => wrap(text.trimEnd()).map((row, index) => ({ seconds, row, index })))
  const width = Math.ceil(COLUMNS * CHARACTER_PX + 2 * PADDING_PX)
  const height = TITLE_PX + rows.length * LINE_PX + 2 * PADDING_PX
  const texts = rows.map(({ seconds, row, index }, line) => {
    const y = TITLE_PX + PADDING_PX + line * LINE_PX + FONT_PX
    const kind = index === 0 && row.startsWith(PROMPT) ? ' class="command"' : ''
    return `  <text${kind} x="${PADDING_PX}" y="${y}" style="animation-delay:${seconds}s">${escapeXml(row)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">
  <title id="title">${escapeXml(title)}</title>
  <style>
    text { fill: #d1d7e0; font: ${FONT_PX}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; opacity: 0; animation: appear 1ms forwards }
    .command { fill: #7ee787 } .title { fill: #9198a1; opacity: 1; animation: none }
    @keyframes appear { to { opacity: 1 } }
    @media (prefers-reduced-motion: reduce) { text { opacity: 1; animation: none } }
  </style>
  <rect width="${width}" height="${height}" rx="10" fill="#151b23"/>
  <text class="title" x="${PADDING_PX}" y="${TITLE_PX - 10}">${escapeXml(title)}</text>
${texts.join('\n')}
</svg>
`
}

/** Breaks a line where a terminal would break the line. */
function wrap(text: string): readonly string[] {
  return text === '' ? [''] : (text.match(new RegExp(`.{1,${COLUMNS}}`, 'gu')) ?? [])
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
