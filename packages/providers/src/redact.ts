// Takes secrets out of text that others wrote, before it becomes part of an error.

const longestShown = 300
/** Shorter keys are no secrets but placeholders: local servers want some key and ignore it. */
const secretCharactersMin = 6

/** A function that makes foreign text fit for a message: one line, of bounded length, without the key in any of its spellings. */
export function redactor(apiKey: string): (text: string) => string {
  const spellings =
    apiKey.length < secretCharactersMin
      ? []
      : [...new Set([apiKey, JSON.stringify(apiKey).slice(1, -1), encodeURIComponent(apiKey), Buffer.from(apiKey).toString('base64')])]
  return (text) => {
    let clean = text
    for (const spelling of spellings) clean = clean.replaceAll(spelling, '[redacted]')
    // Servers quote keys in part, with stars in the middle.
    clean = clean.replace(/\b(?:sk|key|pk)-[\w*.…-]{6,}/g, '[redacted]').replace(/\bBearer\s+\S+/gi, 'Bearer [redacted]')
    const line = clean.replace(/\s+/g, ' ').trim()
    return line.length > longestShown ? `${line.slice(0, longestShown)}…` : line
  }
}
