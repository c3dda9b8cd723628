// Says where the events are that an archive removed from the journal, and how to read them.
import type { TaskAnswer } from '@beaver/contracts'
import { shellWord } from '@beaver/core'
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'

/** @param command the command with which a person calls `beaver` here */
export function archiveLines(
  { archive }: Pick<TaskAnswer, 'archive'>,
  task: string,
  command: string,
): string[] {
  if (archive === undefined) return []
  const { events, file, sha256 } = archive
  const path = shellWord(oneLine(file))
  return [
    `${counted(events, 'event')} between the first and the last entry of this task ${events === 1 ? 'is' : 'are'} in the archive ${oneLine(file)}`,
    `(SHA-256 ${sha256}).`,
    `Read them:   ${command} events ${shellWord(task)} --from ${path}`,
    `Check them:  ${command} check --export ${path}`,
  ]
}
