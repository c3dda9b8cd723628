// Which help for its cache (cache-ways.ts) one server takes, learned from its refusals. Each refusal takes
// one help away, so the repetitions end. A refusal is judged by what its own request had, because several
// requests may be refused before one of them is sent again.
import type { ResultMarks } from './cache-markers.ts'
import type { ServerError } from './server-error.ts'
import { saysNoCacheKey, saysNoMarks, saysNoMarksInResults } from './server-words.ts'

/** What a request had for the cache. */
export interface SentForCache {
  readonly cacheKey: boolean
  /** `null`: no marks. */
  readonly marks: ResultMarks | null
}

export class CacheHabits {
  /** Whether the server takes the key in the body. */
  key = true
  /** Where it takes the marks of results. `null`: it takes no marks. */
  marks: ResultMarks | null = 'part'

  /** Returns whether to ask the server again in another way. */
  learns(serverError: ServerError, { cacheKey, marks }: SentForCache): boolean {
    if (cacheKey && saysNoCacheKey(serverError)) {
      this.key = false
      return true
    }
    if (marks === null) return false
    if (marks !== 'none' && saysNoMarksInResults(serverError))
      this.marks = marks === 'part' ? 'message' : 'none'
    else if (saysNoMarks(serverError)) this.marks = null
    else return false
    return true
  }
}
