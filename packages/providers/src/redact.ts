// Makes foreign text fit for a message: without secrets, in one line, with a bounded length.
import { hideSecrets } from '@beaver/core'

const longestShown = 300

/** Returns a function that makes foreign text fit for a message. It removes the key in all its spellings. */
export function redactor(apiKey: string): (text: string) => string {
  const clean = hideSecrets([apiKey])
  return (text) => {
    const line = clean(text).replace(/\s+/g, ' ').trim()
    return line.length > longestShown ? `${line.slice(0, longestShown)}…` : line
  }
}
