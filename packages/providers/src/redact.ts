// Makes foreign text fit for a message: without secrets, in one line, with a bounded length.
import { hideSecrets } from '@beaver/core'

const longestShown = 300

/**
 * Returns a function that makes foreign text fit for a message. It removes the key in all its spellings.
 * `keyName`: the variable with the key.
 */
export function redactor(apiKey: string, keyName: string): (text: string) => string {
  const clean = hideSecrets([{ name: keyName, value: apiKey }])
  return (text) => {
    const line = clean(text).replace(/\s+/g, ' ').trim()
    return line.length > longestShown ? `${line.slice(0, longestShown)}…` : line
  }
}
