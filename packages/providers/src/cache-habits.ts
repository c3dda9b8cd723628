// What one server takes of the helps for its cache (cache-ways.ts), learned from its refusals. Each refusal
// takes something away: the key, the marks in the parts of results, the marks of results, or all marks. So it
// ends. A refusal is judged by what its request had: several requests may be refused for the same before one
// of them is asked again.
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

  /** Returns whether the server is asked again in another way. */
  learns(said: ServerError, { cacheKey, marks }: SentForCache): boolean {
    if (cacheKey && saysNoCacheKey(said)) {
      this.key = false
      return true
    }
    if (marks === null) return false
    if (marks !== 'none' && saysNoMarksInResults(said)) this.marks = marks === 'part' ? 'message' : 'none'
    else if (saysNoMarks(said)) this.marks = null
    else return false
    return true
  }
}
