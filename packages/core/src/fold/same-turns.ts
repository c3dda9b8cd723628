// How many turns of a run in a row were the same. The run's own bound (`repeats_max`) compares with it, so a
// run that goes nowhere ends long before its iterations are used up. A turn is an answer with its tool calls
// and their results.
// S4. A turn repeats the one before it if it makes the same calls in the same order, and each call had the
// same result as before, or failed again after the same text of the answer, whatever the words of the
// failure. If one of several calls brings something else, something moves, and the turn is a new one.
// S5. What a person says to the model is progress: an answer, a refusal, other arguments, a text that steers.
// A person who only allows a call says nothing to the model.
// S6. The count follows from the journal alone, and is not touched by summaries, compactions, failed tries or
// restarts.
import { canonicalJson } from '../canonical-json.ts'
import { beaverItself, type Doer } from '../telling/doer.ts'

/** A turn whose calls all have results. `text` is that of the answer. */
interface EndedTurn {
  readonly text: string
  readonly calls: readonly EndedCall[]
}

/** What of a call is compared. Its id differs in each answer. */
interface EndedCall {
  readonly name: string
  readonly arguments: string
  readonly result: string | null
  readonly success: boolean
  readonly images?: readonly { readonly sha256: string }[]
}

/** A call that has a result, and what a person said about it. An `OpenCall` has this shape. */
interface SettledCall extends EndedCall {
  readonly edited: Doer | null
  readonly denial: Doer | null
  readonly questions: readonly { readonly answer: Doer | null }[]
}

/** The newest turns that were the same. `turn`: the last of them; `null` before the first. */
export interface SameTurns {
  readonly times: number
  readonly turn: EndedTurn | null
}

export const noTurns: SameTurns = { times: 0, turn: null }

/** The count after a turn whose calls all have results. */
export function afterTurn(before: SameTurns, text: string, calls: readonly SettledCall[]): SameTurns {
  if (calls.some(personSpoke)) return noTurns
  const turn: EndedTurn = {
    text,
    calls: calls.map(({ name, arguments: args, result, success, images }) => ({
      ...{ name, arguments: args, result, success },
      ...(images === undefined ? {} : { images }),
    })),
  }
  return { times: before.turn !== null && isSame(before.turn, turn) ? before.times + 1 : 1, turn }
}

/**
 * Whether the run has done the same as often as it may, and must not ask its model again.
 *
 * @example
 * const start = { repeats_max: 2 }
 * goesNowhere({ start, sameTurns: { times: 1, turn: null } }) // => false
 * goesNowhere({ start, sameTurns: { times: 2, turn: null } }) // => true
 */
export const goesNowhere = ({
  start,
  sameTurns,
}: {
  readonly start: { readonly repeats_max?: number | undefined }
  readonly sameTurns: SameTurns
}): boolean => start.repeats_max !== undefined && sameTurns.times >= start.repeats_max

function isSame(a: EndedTurn, b: EndedTurn): boolean {
  if (a.calls.length !== b.calls.length) return false
  return b.calls.every((call, i) => repeats(a.calls[i] as EndedCall, call, a.text === b.text))
}

/** The arguments are compared last, because they are parsed for it. */
const repeats = (a: EndedCall, b: EndedCall, sameText: boolean): boolean =>
  a.name === b.name &&
  (hasSameResult(a, b) || (sameText && !a.success && !b.success)) &&
  (a.arguments === b.arguments || isSameJson(a.arguments, b.arguments))

function hasSameResult(a: EndedCall, b: EndedCall): boolean {
  const [before = [], now = []] = [a.images, b.images]
  return (
    a.success === b.success &&
    a.result === b.result &&
    before.length === now.length &&
    before.every(({ sha256 }, i) => sha256 === now[i]?.sha256)
  )
}

/** Arguments that are no JSON are the same only as texts. */
function isSameJson(a: string, b: string): boolean {
  try {
    return canonicalJson(JSON.parse(a)) === canonicalJson(JSON.parse(b))
  } catch {
    return false
  }
}

/** Whether a person said something that the model reads with the result of the call. */
const personSpoke = ({ edited, denial, questions }: SettledCall): boolean =>
  edited !== null ||
  (denial !== null && isPerson(denial)) ||
  questions.some(({ answer }) => answer !== null && isPerson(answer))

const isPerson = ({ by, user_id }: Doer): boolean => by !== beaverItself || user_id !== undefined
