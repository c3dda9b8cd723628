// What one server of the Responses API takes in a request, learned from its refusals. A thought that the
// server does not have any more is left out of this call alone: it says nothing about the thoughts of other
// conversations. That a server never takes its thoughts back is believed once it has taken the same request
// without them.
import { CacheHabits, type SentForCache } from './cache-habits.ts'
import { FormHabits, type SentForm } from './form-habits.ts'
import { ImageHabits } from './image-habits.ts'
import { refusalIn, refusedForm } from './provider-failure.ts'
import type { ServerError } from './server-error.ts'
import {
  saysItemLost,
  saysNoEncryptedThoughts,
  saysNoItem,
  saysNoStore,
  saysOverflow,
} from './server-words.ts'

/** What a server takes, learned in all calls. */
export interface ResponsesHabits {
  /** Whether it takes back what it thought. */
  state: boolean
  /** Whether it gives its thoughts in a form that can go back. */
  thoughts: boolean
  /** Whether it can be told what to keep. */
  store: boolean
  /** Which images it is shown. */
  readonly images: ImageHabits
  /** In which form it writes an answer. */
  readonly form: FormHabits
  /** Which helps for its cache it takes. */
  readonly cache: CacheHabits
}

/** @param images what the operator says about images; absent: nothing */
export const unknownHabits = (images?: boolean): ResponsesHabits => ({
  ...{ state: true, thoughts: true, store: true },
  ...{ images: new ImageHabits(images), form: new FormHabits(), cache: new CacheHabits() },
})

/** What a request had that a server may not know. */
export interface SentParts extends SentForCache {
  /** Thoughts of earlier answers. */
  readonly state: boolean
  readonly thoughts: boolean
  readonly store: boolean
  /** The images with their content, the newest first. */
  readonly images: readonly string[]
  /** The form of the answer; `null` if it was not asked for. */
  readonly form: SentForm | null
}

/** What one call learns. */
export interface CallHabits {
  /** Whether this call may have thoughts of earlier answers. */
  readonly sendsState: () => boolean
  taken(sent: SentParts): void
  /** Returns whether a refusal says what the server does not take, so that it is asked again. */
  learns(refusal: unknown, sent: SentParts): boolean
}

export function callHabits(habits: ResponsesHabits): CallHabits {
  let refused: 'unknown' | 'lost' | null = null
  return {
    sendsState: () => habits.state && refused === null,
    taken(sent) {
      habits.images.taken(sent.images)
      if (refused === 'unknown') habits.state = false
    },
    learns(refusal, sent) {
      const said = refusalIn(refusal)
      if (said === null) return false
      if (habits.cache.learns(said, sent)) return true
      if (habits.images.learns(said, sent.images)) return true
      if (sent.form !== null && habits.form.learns(refusedForm(said), sent.form)) return true
      if (sent.store && saysNoStore(said) && !saysItemLost(said)) {
        habits.store = false
        return true
      }
      // A server names the item in which the image is.
      if (habits.images.learnsBad(said, sent.images)) return true
      const items = sent.state ? refusedItems(said) : null
      if (items !== 'lost' && sent.thoughts && saysNoEncryptedThoughts(said)) {
        habits.thoughts = false
        return true
      }
      refused = items
      return items !== null
    },
  }
}

/**
 * What came from the model and went back is refused: `unknown` the server never takes it, `lost` it does not
 * take this one.
 */
function refusedItems(said: ServerError): 'unknown' | 'lost' | null {
  if (saysOverflow(said)) return null
  if (saysItemLost(said)) return 'lost'
  return saysNoItem(said) ? 'unknown' : null
}
