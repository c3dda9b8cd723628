// Takes the text out of HTML and keeps its lines: line 12 of the text is line 12 of the file, so that a
// citation can be checked. It takes linear time, whatever the file contains. Markup that does not end is
// text.

const withoutText = /^<(script|style|template|svg)(?=[\s/>])/i
const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

/** The text of the file, with as many lines. Each tag is a space. */
export function htmlLines(html: string): string {
  const parts: string[] = []
  const ends = nextOf(html, '>')
  let at = 0
  let open = html.indexOf('<')
  while (open >= 0) {
    const end = endOfMarkup(html, open, ends)
    if (end === null) open = html.indexOf('<', open + 1)
    else {
      parts.push(decoded(html.slice(at, open)), onlyLines(html.slice(open, end)))
      at = end
      open = html.indexOf('<', end)
    }
  }
  parts.push(decoded(html.slice(at)))
  return parts.join('')
}

/** Where the markup ends that begins at `open`, or `null` if it is no markup. */
function endOfMarkup(html: string, open: number, ends: (from: number) => number | null): number | null {
  // Most of these characters in a text are no markup, so this comes first.
  if (!/[/!?a-z]/i.test(html[open + 1] ?? '')) return null
  if (html.startsWith('<!--', open)) return after(html, '-->', open + 4) ?? html.length
  const start = html.slice(open, open + 12)
  const [, element] = withoutText.exec(start) ?? []
  if (element !== undefined) return closing(html, element, open)
  const end = ends(open)
  return end === null ? null : end + 1
}

/** The next place of a mark. The places that are asked for only grow, so the text is read once. */
function nextOf(text: string, mark: string): (from: number) => number | null {
  let next = text.indexOf(mark)
  return (from) => {
    if (next >= 0 && next < from) next = text.indexOf(mark, from)
    return next < 0 ? null : next
  }
}

function closing(html: string, element: string, from: number): number {
  const end = new RegExp(`</${element}\\s{0,100}>`, 'gi')
  end.lastIndex = from
  return end.exec(html) === null ? html.length : end.lastIndex
}

function after(html: string, mark: string, from: number): number | null {
  const found = html.indexOf(mark, from)
  return found < 0 ? null : found + mark.length
}

const onlyLines = (markup: string): string => ` ${'\n'.repeat(markup.split('\n').length - 1)}`

const decoded = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return entities[name.toLowerCase()] ?? whole
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
      return code > 0x1f && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
        ? String.fromCodePoint(code)
        : ' '
    },
  )
