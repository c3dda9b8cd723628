// Which key was pressed, and what it leads to. Pure, so that the rules are tested without a browser.

/** What of a key press decides whether it acts. */
export interface Press {
  /** The key as the browser names it, such as `a`, `?` or `Enter`. */
  readonly key: string
  readonly ctrlKey: boolean
  readonly metaKey: boolean
  readonly altKey: boolean
  /** The key is held down, so the browser repeats it. */
  readonly repeat: boolean
  /** Something on the page has used the press already. */
  readonly defaultPrevented: boolean
  /** The person types into a field, or does not want single keys. */
  readonly isTyping: boolean
  /** A dialog is open. The page behind it does not act. */
  readonly isInDialog: boolean
  /** When it was pressed, in milliseconds. */
  readonly timeStamp: number
}

/** The first key of two, such as the `g` of `g t`, and when it was pressed. */
export interface Begun {
  readonly key: string
  readonly at: number
}

/** So long the second key of two is waited for, in milliseconds. */
const secondMs = 2_000

/**
 * What a press leads to.
 *
 * `act`: the name of the keys that act, such as `a`, `g t` or `Ctrl+k`; `null`: none. `begun`: the first of two
 * keys, for the next press. The key Cmd of a Mac counts as Ctrl.
 *
 * The second key of two never acts as a key of its own: a person who mistypes `g i` must not decide about a call.
 *
 * @param names the names of all keys that do something now
 */
export function pressed(
  press: Press,
  begun: Begun | null,
  names: readonly string[],
): { readonly act: string | null; readonly begun: Begun | null } {
  const { key, timeStamp } = press
  if (press.altKey || press.isInDialog || press.defaultPrevented) return { act: null, begun: null }
  if (press.ctrlKey || press.metaKey) {
    const name = `Ctrl+${key}`
    return { act: names.includes(name) && !press.repeat ? name : null, begun: null }
  }
  if (press.isTyping) return { act: null, begun: null }
  // A key that is held acts once, and not about what follows.
  if (press.repeat) return { act: null, begun }
  // Shift comes before the key that it changes.
  if (key === 'Shift') return { act: null, begun }
  if (begun !== null && timeStamp - begun.at <= secondMs) {
    const both = `${begun.key} ${key}`
    return { act: names.includes(both) ? both : null, begun: null }
  }
  if (names.some((name) => name.startsWith(`${key} `))) return { act: null, begun: { key, at: timeStamp } }
  return { act: names.includes(key) ? key : null, begun: null }
}
