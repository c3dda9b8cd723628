// Makes text that others wrote fit for a message: without secrets, one line, of bounded length.
import { hideSecrets } from '@beaver/core'

const longestShown = 300

/** A function that makes foreign text fit for a message: one line, of bounded length, without the key in any of its spellings. */
export function redactor(apiKey: string): (text: string) => string {
  const clean = hideSecrets([apiKey])
  return (text) => {
    const line = clean(text).replace(/\s+/g, ' ').trim()
    return line.length > longestShown ? `${line.slice(0, longestShown)}…` : line
  }
}
