// Reads a line of Markdown as a person reads it: without its marks. Only what is a mark is removed. The text
// of inline code, names such as `OPENAI_API_KEY` and figures such as `2*3*4` stay as they are. The time is
// bounded by the length of the text.

/**
 * The elements of HTML that people write in a readme. Anything else between angle brackets is text, such as
 * `List<String>`.
 */
const elements = new Set(
  'a abbr b big blockquote br center cite code dd del details div dl dt em figcaption figure font h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark nobr ol p picture pre q s samp section small source span strike strong sub summary sup svg table tbody td th thead tr tt u ul video wbr'.split(
    ' ',
  ),
)

export function plainProse(markdown: string): string {
  return splitCode(markdown)
    .map(({ text, code }) => (code ? text : withoutMarks(text)))
    .join('')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Removes images, the targets of links, elements of HTML, and emphasis. */
function withoutMarks(text: string): string {
  const unlinked = text
    .replace(/!\[[^[\]]{0,500}\]\([^()\s]{0,1000}(?:\s+"[^"]{0,300}")?\)/g, '')
    .replace(
      /(?<![\p{L}\p{N}_)\]])\[([^[\]]{0,500})\]\([^()\s]{0,1000}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?(?:\s+"[^"]{0,300}")?\)/gu,
      '$1',
    )
    .replace(/<!--[\s\S]{0,2000}?-->/g, '')
    .replace(/<(https?:\/\/[^<>\s]{1,1000})>/g, '$1')
    .replace(/<\/?([a-z][a-z0-9]*)(?:\s[^<>]{0,1000})?\/?>/gi, (whole, name: string) =>
      elements.has(name.toLowerCase()) ? '' : whole,
    )
  let left = unlinked
  for (let depth = 0; depth < depthMax; depth++)
    for (const mark of emphasis)
      left = left.replace(mark, (whole, _, inside: string) => (isName(whole) ? whole : inside))
  return left
}

/** Emphasis within emphasis is read to this depth. */
const depthMax = 3

// A mark of emphasis begins a word and ends one. Inside a word, `_` and `*` are part of a name or a formula.
const emphasis = ['\\*{1,3}', '_{1,3}', '~~'].map(
  (mark) =>
    new RegExp(
      String.raw`(?<![\p{L}\p{N}_*~\\/])(${mark})(?![\s*_~])([^*~\n]{1,500}?)(?<![\s*_~\\])\1(?![\p{L}\p{N}_*~/])`,
      'gu',
    ),
)

/** Whether a text between marks is a name with these marks, such as `__init__`. */
const isName = (text: string): boolean => /^__[^\s_]+(?:_[^\s_]+)*__$/.test(text)

/** Splits a text into inline code, without its backticks, and the text between. */
function splitCode(markdown: string): { text: string; code: boolean }[] {
  const parts: { text: string; code: boolean }[] = []
  const runs = [...markdown.matchAll(/`+/g)]
  /** The places of the runs that are left, by their length. */
  const places = new Map<number, number[]>()
  for (const { 0: run, index } of runs.toReversed()) {
    const same = places.get(run.length)
    if (same === undefined) places.set(run.length, [index])
    else same.push(index)
  }
  let at = 0
  for (const { 0: run, index } of runs) {
    const same = places.get(run.length)
    same?.pop()
    const end = index < at ? undefined : same?.at(-1)
    if (end === undefined) continue
    const inside = markdown.slice(index + run.length, end)
    parts.push({ text: markdown.slice(at, index), code: false })
    parts.push({ text: inside.trim() === '' ? inside : inside.replace(/^ (.+) $/s, '$1'), code: true })
    at = end + run.length
  }
  return [...parts, { text: markdown.slice(at), code: false }]
}
