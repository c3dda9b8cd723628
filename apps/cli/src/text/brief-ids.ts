// The beginning of an id, for a narrow screen. Every command takes it in place of the id.

const madeByBeaver = /^[a-z]+_[0-9a-z]{26}$/
/** `task_` and what says the moment of the id, and a little more. */
const charsMin = 17

/** A function that shortens the ids that Beaver made, so far that all of `ids` stay different. Other ids stay whole. */
export function briefIds(ids: readonly string[]): (id: string) => string {
  const made = [...new Set(ids.filter((id) => madeByBeaver.test(id)))]
  let chars = charsMin
  while (new Set(made.map((id) => id.slice(0, chars))).size < made.length) chars++
  return (id) => (madeByBeaver.test(id) ? id.slice(0, chars) : id)
}
