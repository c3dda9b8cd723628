// Refuses options that would do nothing. A person who gives an option relies on it: "audit --offline file"
// must not answer about something else.
import { UsageError } from '../failures.ts'

/**
 * @param command the command with several words, such as `audit`
 * @param of the options of each word, without --json
 * @throws {UsageError} for an option that belongs to other words
 */
export function mustOwn<Word extends string>(
  command: string,
  word: Word,
  options: object,
  of: Readonly<Record<Word, readonly string[]>>,
): void {
  for (const name of Object.keys(options)) {
    if (name === 'json' || of[word].includes(name)) continue
    const words = (Object.keys(of) as Word[])
      .filter((each) => of[each].includes(name))
      .map((each) => `beaver ${command} ${each}`)
    throw new UsageError(
      `"beaver ${command} ${word}" has no option --${name}. It is for: ${words.join(', ')}.`,
    )
  }
}
