// Counts answers: which part of an answer counts, and which answers are the same. Two are the same if they
// are equal in NFKC, in lower case, with single spaces, and without punctuation and emphasis around them
// (except a minus before a figure, and % and # after it). The last line `VOTE: …` counts, or else the whole
// answer. With options, an answer that is none of them is invalid, even if it mentions one.
import { readJsonAnswer } from '../growing/json-answer.ts'
import { z } from 'zod'
import { excerpt } from '../growing/growing-team.ts'

export interface Vote {
  readonly voter: string
  readonly answer: string
}

export interface Tally {
  /**
   * The most frequent first. Of equal ones, the first in the options or else among the voters comes first.
   */
  readonly counts: readonly {
    readonly answer: string
    readonly votes: number
    readonly voters: readonly string[]
  }[]
  /** Every vote, in the order of the voters: its answer, or `null` and what was said instead. */
  readonly votes: readonly { readonly voter: string; readonly vote: string | null; readonly said?: string }[]
  /** The voters whose answer is no vote. */
  readonly invalid: readonly string[]
  /** The answers that share the first place, if there are several. */
  readonly tied: readonly string[]
}

export function voteInstruction(options: readonly string[] | undefined): string {
  const alone = 'You are one of several who answer this independently.'
  if (options === undefined)
    return `${alone} Give your reasons, then end with one line "VOTE: <your answer in as few words as possible>".`
  return `${alone} Give your reasons, then end with one line "VOTE: <option>". The options, one of which you must write exactly: ${options.map((option) => JSON.stringify(option)).join(', ')}.`
}

/** A text that is the same for answers that differ only in case, marks and spaces: `yes` for `**Yes.**`. */
export function sameAnswer(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .replace(/^(?:[\p{P}\s`](?<!-(?=\d)))+/u, '')
    .replace(/(?:(?![%#])[\p{P}\s`])+$/u, '')
}

const json = z.union([
  z.object({ vote: z.string() }).transform(({ vote }) => vote),
  z.object({ answer: z.string() }).transform(({ answer }) => answer),
])

/** The part of an answer that is counted. */
export function votedIn(answer: string): string {
  const line = answer.split('\n').findLast((each) => marked.test(each))
  if (line !== undefined) return line.replace(marked, '')
  const read = readJsonAnswer(answer, json)
  return read.ok ? read.value : answer
}

const marked = /^[\s*_#>"'`-]*vote[\s*_"'`]*[:：]/iu

export function tallyOf(votes: readonly Vote[], options: readonly string[] | null): Tally {
  const counts = new Map<string, { answer: string; voters: string[] }>(
    (options ?? []).map((option) => [sameAnswer(option), { answer: option, voters: [] }]),
  )
  const invalid: string[] = []
  const cast: Tally['votes'][number][] = []
  for (const { voter, answer } of votes) {
    const voted = votedIn(answer)
    const key = sameAnswer(voted)
    const known =
      counts.get(key) ??
      (options === null && key !== '' ? { answer: excerpt(voted.trim(), 500), voters: [] } : null)
    if (known === null) {
      invalid.push(voter)
      cast.push({ voter, vote: null, said: excerpt(voted.trim(), 200) })
      continue
    }
    known.voters.push(voter)
    counts.set(key, known)
    cast.push({ voter, vote: known.answer })
  }
  const sorted = [...counts.values()]
    .map(({ answer, voters }) => ({ answer, votes: voters.length, voters }))
    .toSorted((a, b) => b.votes - a.votes)
  const most = sorted[0]?.votes ?? 0
  const first = sorted.filter((each) => most > 0 && each.votes === most)
  return {
    counts: sorted,
    votes: cast,
    invalid,
    tied: first.length > 1 ? first.map((each) => each.answer) : [],
  }
}

/**
 * The option that wins whatever the open answers are. `null` if they may change it, or if the quorum is not
 * reached yet. Of equal options the first in declared order wins, so an option after it may still become
 * equal.
 */
export function decidedAnswer(
  { counts }: Tally,
  options: readonly string[],
  { open, quorum }: { open: number; quorum: number },
): string | null {
  const [first, ...others] = counts
  const valid = counts.reduce((sum, each) => sum + each.votes, 0)
  if (first === undefined || valid < quorum) return null
  const place = options.indexOf(first.answer)
  const safe = others.every(
    ({ answer, votes }) =>
      votes + open < first.votes || (votes + open === first.votes && place < options.indexOf(answer)),
  )
  return safe ? first.answer : null
}
