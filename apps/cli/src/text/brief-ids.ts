// The beginning of an id, for a narrow screen. Every command takes it in place of the id, also with the
// number of a retry behind it.

const madeByBeaver = /^[a-z]+_[0-9a-z]{26}$/
/** `task_` and what says the moment of the id, and a little more. */
const madeCharsMin = 17
/** An id that a person chose says something, and its beginning may be the one of many. */
const chosenCharsMin = 24

/** A function that shortens long ids, so far that all of `ids` stay different. */
export function briefIds(ids: readonly string[]): (id: string) => string {
  const { made = [], chosen = [] } = Object.groupBy(new Set(ids.map((id) => partsOf(id).id)), kindOf)
  const chars = { made: charsOf(made, madeCharsMin), chosen: charsOf(chosen, chosenCharsMin) }
  return (whole) => {
    const { id, retry } = partsOf(whole)
    return id.slice(0, chars[kindOf(id)]) + retry
  }
}

const kindOf = (id: string): 'made' | 'chosen' => (madeByBeaver.test(id) ? 'made' : 'chosen')

function partsOf(whole: string): { readonly id: string; readonly retry: string } {
  const [, id = whole, retry = ''] = /^(.+?)(\.retry-\d+)?$/s.exec(whole) ?? []
  return { id, retry }
}

/** At least so many characters, and so many that all ids stay different. */
function charsOf(ids: readonly string[], min: number): number {
  let chars = min
  while (new Set(ids.map((id) => id.slice(0, chars))).size < ids.length) chars++
  return chars
}
