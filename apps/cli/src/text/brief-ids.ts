// The beginning of an id, for a narrow screen. Every command takes it in place of the id, also with the number of a retry behind it.

const madeByBeaver = /^([a-z]+_[0-9a-z]{26})(\.retry-\d+)?$/
/** `task_` and what says the moment of the id, and a little more. */
const charsMin = 17

/** A function that shortens the ids that Beaver made, so far that all of `ids` stay different. Other ids stay whole. */
export function briefIds(ids: readonly string[]): (id: string) => string {
  const made = [...new Set(ids.flatMap((id) => madeByBeaver.exec(id)?.[1] ?? []))]
  let chars = charsMin
  while (new Set(made.map((id) => id.slice(0, chars))).size < made.length) chars++
  return (id) => {
    const [, whole, retry = ''] = madeByBeaver.exec(id) ?? []
    return whole === undefined ? id : whole.slice(0, chars) + retry
  }
}
