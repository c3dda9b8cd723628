// The check `output_cites`: does the output name its sources, and did the run really get them?
import type { MachineRequirement } from './requirement.ts'
import { resultTexts } from './result-texts.ts'
import type { RunFacts } from './run-facts.ts'
import { names, urlsIn } from './sources.ts'
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
    detail: `The output cites ${good.length} of ${sources.length} sources${of(from_tool)}; ${wanted} required${passed || why.length === 0 ? '' : `: ${why.join('; ')}`}.${foreigners(others, from_tool)}`,
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
    detail: `The output cites ${good.length} different ${good.length === 1 ? 'URL' : 'URLs'}${of(from_tool)}, which gave ${had.size}; ${times_min} required.${foreigners(others, from_tool)}`,
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

const of = (tool: string | undefined): string => (tool === undefined ? '' : ` of ${tool}`)

const foreigners = (urls: readonly string[], tool: string | undefined): string =>
  urls.length === 0 ? '' : ` It also cites what ${tool} did not give: ${listed(urls.map(quoted))}.`
