// What a call that failed said. Pure.

/**
 * The message of a result that is an error: tools of Beaver return an object with `message`. Any other result is
 * its own message.
 *
 * @returns `null`: there is no text
 */
export function messageOf(result: string | null): string | null {
  if (result === null || result.trim() === '') return null
  try {
    const value = JSON.parse(result) as unknown
    if (typeof value !== 'object' || value === null || !('message' in value)) return result
    return typeof value.message === 'string' && value.message !== '' ? value.message : result
  } catch {
    return result
  }
}
