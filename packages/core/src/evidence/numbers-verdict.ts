// The check `numbers_from_tools`: does every number of the output occur in a result of the named tools?
// A number without a sign matches the same number with a minus sign, because prose says "fell by 5".
import { type FoundNumber, numbersIn, valueOf, withoutListNumbers } from './numbers.ts'
import type { MachineRequirement } from './requirement.ts'
import { resultTexts } from './result-texts.ts'
import type { RunFacts } from './run-facts.ts'
import { listed, type Verdict } from './verdict.ts'

export function numbersVerdict({ tools, allow = [], integers_below = 0 }: MachineRequirement & { kind: 'numbers_from_tools' }, facts: RunFacts): Verdict {
  const allowed = new Set(allow.map(valueOf))
  const all = numbersIn(withoutListNumbers(facts.outputText))
  const free = (number: FoundNumber): boolean => number.plainInteger && Number(number.readings[0]?.[0]) < integers_below
  const judged = all.filter((number) => !free(number) && !isKnown(number, allowed))
  const known = new Set(allowed)
  const read: number[] = []
  /** The results in which a number of the output was found. */
  const used: number[] = []
  let open = judged
  for (const fact of facts.tools) {
    if (open.length === 0) break
    if (!fact.success || fact.result === undefined || !tools.includes(fact.tool)) continue
    for (const text of resultTexts(fact.result)) for (const number of numbersIn(text)) learn(known, number)
    const left = open.filter((number) => !isKnown(number, known))
    read.push(fact.taskseq)
    if (left.length < open.length) used.push(fact.taskseq)
    open = left
  }
  const of = tools.join(' or ')
  const shown = [...new Set(open.map((number) => number.shown))]
  const detail =
    open.length > 0
      ? `${shown.length === 1 ? 'A number of the output stands' : `${shown.length} numbers of the output stand`} in no result of ${of}: ${listed(shown)}.`
      : judged.length === 0
        ? `The output contains no number to check against the results of ${of}.`
        : `${judged.length === 1 ? 'The number' : `All ${judged.length} numbers`} of the output ${judged.length === 1 ? 'stands' : 'stand'} in results of ${of}.`
  return { passed: open.length === 0, detail, restsOn: [facts.outputSeq, ...(open.length === 0 ? used : read)] }
}

const isKnown = (number: FoundNumber, known: ReadonlySet<string>): boolean => number.readings.some((reading) => reading.every((value) => known.has(value)))

function learn(known: Set<string>, { readings }: FoundNumber): void {
  for (const value of readings.flat()) {
    known.add(value)
    if (value.startsWith('-')) known.add(value.slice(1))
  }
}
