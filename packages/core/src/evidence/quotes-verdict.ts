// The check `quotes_from_dependencies`: does each quotation of the output occur in an output that the node
// received? A quotation is a text in quotation marks of at least `chars_min` characters, or the lines of a
// Markdown quote. Shorter ones are words in quotation marks. Fenced blocks and inline code are no quotations.
// White space, the form of quotation marks and dashes, and the marks of emphasis do not matter. Every other
// character does. An ellipsis in a quotation leaves text out: each part must occur, in this order, in one
// output.
import type { MachineRequirement } from './requirement.ts'
import type { RunFacts } from './run-facts.ts'
import { listed, quoted, type Verdict } from './verdict.ts'

export function quotesVerdict(
  { times_min = 1, chars_min = 12 }: MachineRequirement & { kind: 'quotes_from_dependencies' },
  facts: RunFacts,
): Verdict {
  const restsOn = [facts.outputSeq]
  const given = (facts.given?.outputs ?? []).map(plain)
  const quotes = quotesIn(facts.outputText).filter((quote) => plain(quote).length >= chars_min)
  const invented = quotes.filter((quote) => !given.some((text) => occurs(quote, text)))
  if (invented.length > 0) {
    const which =
      invented.length === 1
        ? 'A quotation of the output stands'
        : `${invented.length} quotations of the output stand`
    return {
      passed: false,
      detail: `${which} in no output that the node received: ${listed(invented.map(quoted))}.`,
      restsOn,
    }
  }
  const detail = `The output has ${quotes.length} ${quotes.length === 1 ? 'quotation' : 'quotations'} from what the node received; ${times_min} required.`
  return { passed: quotes.length >= times_min, detail, restsOn }
}

const marked =
  /“([^“”]{1,4000})”|„([^„“”]{1,4000})[“”]|«([^«»]{1,4000})»|「([^「」]{1,4000})」|『([^『』]{1,4000})』|(?<![\p{L}\p{N}])"([^"\n]{1,4000})"(?![\p{L}\p{N}])/gu

function quotesIn(text: string): string[] {
  const bare = withoutFences(text).replace(/`[^`\n]*`/g, '')
  const lines = [...bare.matchAll(/(?:^ {0,3}>[^\n]*(?:\n|$))+/gm)].map(([block]) =>
    block.replace(/^ {0,3}> ?/gm, ''),
  )
  const inline = bare.replace(/^ {0,3}>[^\n]*$/gm, '')
  return [
    ...lines.flatMap((block) => block.split(/\n[ \t]*\n/)),
    ...[...inline.matchAll(marked)].map((match) => match.slice(1).find((part) => part !== undefined) ?? ''),
  ]
}

/** The text without its fenced blocks. */
function withoutFences(text: string): string {
  let fence = ''
  const kept: string[] = []
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? ''
    if (fence === '' && mark !== '') fence = mark
    else if (fence !== '' && mark.startsWith(fence) && line.trim() === mark) fence = ''
    else if (fence === '') kept.push(line)
  }
  return kept.join('\n')
}

const plain = (text: string): string =>
  text
    .replace(/[“”„«»「」『』‘’]/g, (mark) => ('‘’'.includes(mark) ? "'" : '"'))
    .replace(/[‐-―]/g, '-')
    .replace(/\*{1,3}|(?<![\p{L}\p{N}])_{1,2}|_{1,2}(?![\p{L}\p{N}])/gu, '')
    .replace(/^"|"$/g, '')
    .replace(/\s+/g, ' ')
    .trim()

function occurs(quote: string, text: string): boolean {
  let at = 0
  for (const part of quote.split(/\[?(?:…{1,2}|\.{3})\]?/).map((each) => plain(each))) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return true
}
