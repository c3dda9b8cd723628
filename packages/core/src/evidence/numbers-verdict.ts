// The checks `numbers_from_tools` and `numbers_from_dependencies`: does every figure of the output occur in a
// result of the named tools, or in what the node was given? Without a successful call of these tools nothing
// passes, because then nothing was read.
import { type Figure, figuresIn, valueOf, withoutListNumbers } from './figures.ts'
import { KnownFigures } from './known-figures.ts'
import type { MachineRequirement } from './requirement.ts'
import { resultTexts } from './result-texts.ts'
import type { RunFacts } from './run-facts.ts'
import { statedMagnitudes } from './units.ts'
import { listed, type Verdict } from './verdict.ts'

export function numbersVerdict(
  requirement: MachineRequirement & { kind: 'numbers_from_tools' },
  facts: RunFacts,
): Verdict {
  const of = requirement.tools.join(' or ')
  const calls = facts.tools.filter((fact) => fact.success && requirement.tools.includes(fact.tool))
  if (calls.length === 0)
    return {
      passed: false,
      detail: `No call of ${of} succeeded, so no number of the output can come from one.`,
      restsOn: [facts.outputSeq],
    }
  const sources = calls.flatMap(({ taskseq, result }) =>
    result === undefined ? [] : [{ seq: taskseq, texts: resultTexts(result) }],
  )
  return figuresVerdict(requirement, facts, {
    sources,
    none: `in no result of ${of}`,
    some: `in results of ${of}`,
    against: `the results of ${of}`,
  })
}

export function givenNumbersVerdict(
  requirement: MachineRequirement & { kind: 'numbers_from_dependencies' },
  facts: RunFacts,
): Verdict {
  const { outputs = [], texts = [] } = facts.given ?? {}
  const sources = [...outputs, ...texts].map((text) => ({ seq: 0, texts: resultTexts(text) }))
  const given = 'what the node was given'
  return figuresVerdict(requirement, facts, {
    sources,
    none: `nowhere in ${given}`,
    some: `in ${given}`,
    against: given,
  })
}

interface Sources {
  readonly sources: readonly { readonly seq: number; readonly texts: readonly string[] }[]
  /** For the detail. */
  readonly none: string
  readonly some: string
  readonly against: string
}

function figuresVerdict(
  { allow = [], integers_below = 0 }: { allow?: number[] | undefined; integers_below?: number | undefined },
  facts: RunFacts,
  { sources, none, some, against }: Sources,
): Verdict {
  const known = new KnownFigures()
  known.allow(allow.map(valueOf))
  const stated = statedMagnitudes(facts.outputText)
  const free = (figure: Figure): boolean => figure.plainInteger && Number(firstValue(figure)) < integers_below
  const judged = figuresIn(withoutListNumbers(facts.outputText)).filter(
    (figure) => !free(figure) && !known.has(figure, stated),
  )
  const read: number[] = []
  /** The sources in which a figure of the output was found. */
  const used: number[] = []
  let open = judged
  for (const { seq, texts } of sources) {
    if (open.length === 0) break
    for (const text of texts) known.learn(text)
    const left = open.filter((figure) => !known.has(figure, stated))
    read.push(seq)
    if (left.length < open.length) used.push(seq)
    open = left
  }
  const shown = [...new Set(open.map((figure) => figure.shown))]
  const detail =
    open.length > 0
      ? `${shown.length === 1 ? 'A number of the output stands' : `${shown.length} numbers of the output stand`} ${none}: ${listed(shown)}.`
      : judged.length === 0
        ? `The output contains no number to check against ${against}.`
        : `${judged.length === 1 ? 'The number' : `All ${judged.length} numbers`} of the output ${judged.length === 1 ? 'stands' : 'stand'} ${some}.`
  return {
    passed: open.length === 0,
    detail,
    restsOn: [facts.outputSeq, ...(open.length === 0 ? used : read)],
  }
}

function firstValue({ readings }: Figure): string {
  const atom = readings[0]?.[0]
  return atom?.kind === 'value' ? atom.value : 'NaN'
}
