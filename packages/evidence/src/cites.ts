// The check `output_cites`: does the output name its sources, and did the run really get them?
import type { MachineRequirement, RunFacts } from '@beaver/core/evidence'
import { resultTexts, wordLetters } from './result-texts.ts'
import { listed, quoted, type Verdict } from './verdict.ts'

type Cites = MachineRequirement & { kind: 'output_cites' }

export function citesVerdict(requirement: Cites, facts: RunFacts): Verdict {
  return requirement.sources === undefined
    ? citesFound(requirement, facts)
    : citesNamed(requirement, requirement.sources, facts)
}

/**
 * The requirement lists its sources. Each source, or `times_min` of them, must occur in the output. With
 * `from_tool`, each must also occur in a successful call of that tool.
 */
function citesNamed(
  { from_tool, times_min, only }: Cites,
  sources: readonly string[],
  facts: RunFacts,
): Verdict {
  const wanted = times_min ?? sources.length
  const calls = callsOf(from_tool, facts)
  const had = (source: string) => calls.find(({ texts }) => texts.some((text) => names(text, source)))
  const cited = sources.filter((source) => names(facts.outputText, source))
  const good = from_tool === undefined ? cited : cited.filter((source) => had(source) !== undefined)
  const invented = from_tool === undefined ? [] : cited.filter((source) => had(source) === undefined)
  const missing = sources.filter((source) => !cited.includes(source))
  const others = only === true ? foreign(facts.outputText, calls) : []
  const why = [
    ...(missing.length === 0 ? [] : [`it does not name ${listed(missing.map(quoted))}`]),
    ...(invented.length === 0
      ? []
      : [`${from_tool} neither received nor returned ${listed(invented.map(quoted))}`]),
  ]
  const passed = good.length >= wanted && others.length === 0
  return {
    passed,
    detail: `The output cites ${good.length} of ${sources.length} sources${ofTool(from_tool)}; ${wanted} required${passed || why.length === 0 ? '' : `: ${why.join('; ')}`}.${foreigners(others, from_tool)}`,
    restsOn: [
      facts.outputSeq,
      ...(passed && only !== true
        ? good.map((source) => had(source)?.taskseq ?? 0)
        : calls.map((call) => call.taskseq)),
    ],
  }
}

/** The requirement lists no sources. The output must name URLs that the tool returned or received. */
function citesFound({ from_tool, times_min = 1, only }: Cites, facts: RunFacts): Verdict {
  const calls = callsOf(from_tool, facts)
  const had = urlsOf(calls)
  const good = [...urlsIn(facts.outputText).keys()].filter((key) => had.has(key))
  const others = only === true ? foreign(facts.outputText, calls) : []
  const passed = good.length >= times_min && others.length === 0
  return {
    passed,
    detail: `The output cites ${good.length} different ${good.length === 1 ? 'URL' : 'URLs'}${ofTool(from_tool)}, which gave ${had.size}; ${times_min} required.${foreigners(others, from_tool)}`,
    restsOn: [
      facts.outputSeq,
      ...(passed && only !== true ? good.map((key) => had.get(key) ?? 0) : calls.map((call) => call.taskseq)),
    ],
  }
}

/** A successful call: the arguments of the tool and its result. */
interface ReadCall {
  readonly taskseq: number
  readonly texts: readonly string[]
}

function callsOf(tool: string | undefined, facts: RunFacts): ReadCall[] {
  return facts.tools
    .filter((fact) => fact.tool === tool && fact.success)
    .map(({ taskseq, result, arguments: args }) => ({
      taskseq,
      texts: [result, args].flatMap((text) => (text === undefined ? [] : resultTexts(text))),
    }))
}

/** The URLs of the calls, each with the first call that contained it. */
function urlsOf(calls: readonly ReadCall[]): Map<string, number> {
  const urls = new Map<string, number>()
  for (const { texts, taskseq } of calls)
    for (const text of texts)
      for (const key of urlsIn(text).keys()) if (!urls.has(key)) urls.set(key, taskseq)
  return urls
}

/** The URLs of the output that no call contained. */
function foreign(output: string, calls: readonly ReadCall[]): string[] {
  const had = urlsOf(calls)
  return [...urlsIn(output)].flatMap(([key, written]) => (had.has(key) ? [] : [written]))
}

const ofTool = (tool: string | undefined): string => (tool === undefined ? '' : ` of ${tool}`)

const foreigners = (urls: readonly string[], tool: string | undefined): string =>
  urls.length === 0 ? '' : ` It also cites what ${tool} did not give: ${listed(urls.map(quoted))}.`

// Finds the sources that a text names: URLs, and names that are given as text. URLs are compared without
// their scheme, their fragment, a trailing slash and the punctuation around them. Host names are compared
// without case. A name occurs only as a whole: `doc-1` does not occur in `doc-12`.

/**
 * The URLs of a text, in the form in which they are compared. Each has the form in which it was first
 * written.
 */
function urlsIn(text: string): Map<string, string> {
  const urls = new Map<string, string>()
  for (const [found] of text.matchAll(/https?:\/\/[^\s<>"'`|\\^{}（）【】《》「」，。；、]+/giu)) {
    const written = withoutPunctuation(found)
    const key = urlKey(written)
    if (key !== null && !urls.has(key)) urls.set(key, written)
  }
  return urls
}

/** Whether a text names a source. The source is a URL or a name. */
function names(text: string, source: string): boolean {
  const key = /^https?:\/\//i.test(source) ? urlKey(source) : null
  return key === null ? occursWhole(text, source) : urlsIn(text).has(key)
}

function urlKey(url: string): string | null {
  if (!URL.canParse(url)) return null
  const { host, pathname, search } = new URL(url)
  return host + pathname.replace(/\/+$/, '') + search
}

/** A full stop after a URL and the bracket of a Markdown link are not part of the URL. */
function withoutPunctuation(url: string): string {
  let end = url.length
  const count = (mark: string): number => url.slice(0, end).split(mark).length
  for (; end > 0; end--) {
    const last = url[end - 1] ?? ''
    if (!'.,;:!?*_~)]'.includes(last)) break
    if (last === ')' && count('(') >= count(')')) break
    if (last === ']' && count('[') >= count(']')) break
  }
  return url.slice(0, end)
}

const wordCharacter = new RegExp(`[${wordLetters}\\p{Nd}_]`, 'u')

function occursWhole(text: string, name: string): boolean {
  const isWord = (character: string | undefined): boolean =>
    character !== undefined && wordCharacter.test(character)
  const [startsAsWord, endsAsWord] = [isWord(name[0]), isWord(name.at(-1))]
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    if (!(startsAsWord && isWord(text[at - 1])) && !(endsAsWord && isWord(text[at + name.length])))
      return true
  }
  return false
}
