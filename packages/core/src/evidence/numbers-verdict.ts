// The check `numbers_from_tools`: does every figure of the output occur in a result of the named tools?
// Without a successful call of these tools nothing passes, because then nothing was read.
import { type Figure, figuresIn, valueOf, withoutListNumbers } from './figures.ts'
import { KnownFigures } from './known-figures.ts'
import type { MachineRequirement } from './requirement.ts'
import { resultTexts } from './result-texts.ts'
import type { RunFacts } from './run-facts.ts'
import { statedMagnitudes } from './units.ts'
import { listed, type Verdict } from './verdict.ts'

export function numbersVerdict({ tools, allow = [], integers_below = 0 }: MachineRequirement & { kind: 'numbers_from_tools' }, facts: RunFacts): Verdict {
  const known = new KnownFigures()
  known.allow(allow.map(valueOf))
  const stated = statedMagnitudes(facts.outputText)
  const of = tools.join(' or ')
  const sources = facts.tools.filter((fact) => fact.success && tools.includes(fact.tool))
  if (sources.length === 0)
    return { passed: false, detail: `No call of ${of} succeeded, so no number of the output can come from one.`, restsOn: [facts.outputSeq] }
  const free = (figure: Figure): boolean => figure.plainInteger && Number(firstValue(figure)) < integers_below
  const judged = figuresIn(withoutListNumbers(facts.outputText)).filter((figure) => !free(figure) && !known.has(figure, stated))
  const read: number[] = []
  /** The results in which a figure of the output was found. */
  const used: number[] = []
  let open = judged
  for (const { result, taskseq } of sources) {
    if (open.length === 0) break
    if (result === undefined) continue
    for (const text of resultTexts(result)) known.learn(text)
    const left = open.filter((figure) => !known.has(figure, stated))
    read.push(taskseq)
    if (left.length < open.length) used.push(taskseq)
    open = left
  }
  const shown = [...new Set(open.map((figure) => figure.shown))]
  const detail =
    open.length > 0
      ? `${shown.length === 1 ? 'A number of the output stands' : `${shown.length} numbers of the output stand`} in no result of ${of}: ${listed(shown)}.`
      : judged.length === 0
        ? `The output contains no number to check against the results of ${of}.`
        : `${judged.length === 1 ? 'The number' : `All ${judged.length} numbers`} of the output ${judged.length === 1 ? 'stands' : 'stand'} in results of ${of}.`
  return { passed: open.length === 0, detail, restsOn: [facts.outputSeq, ...(open.length === 0 ? used : read)] }
}

function firstValue({ readings }: Figure): string {
  const atom = readings[0]?.[0]
  return atom?.kind === 'value' ? atom.value : 'NaN'
}
