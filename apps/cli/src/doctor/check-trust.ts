// Checks whether what the folder asks for counts, and says what it would do. The doctor never asks for
// consent.
import type { FolderTrust } from '@beaver/platform'
import { type Finding, ok, warn } from './check.ts'

const because = {
  named: 'you named the file, so all of it counts',
  own_code: 'it is part of the program that runs, so all of it counts',
  told: 'BEAVER_TRUST or --trust says so, so all of it counts',
  accepted: 'you accepted what it asks for',
} as const

export function checkTrust({ state, by, asked, changed }: FolderTrust): Finding[] {
  if (asked.length === 0) return []
  const what = asked.length === 1 ? '1 setting that needs' : `${asked.length} settings that need`
  if (state === 'trusted')
    return by === null || by === 'nothing_asked' ? [] : [ok('trust', `${what} consent: ${because[by]}`)]
  const says = asked.map((each) => each.says).join('; ')
  if (state === 'refused')
    return [
      warn(
        'trust',
        `left out, as you said: ${says}`,
        'To use these settings: unset BEAVER_TRUST, or leave --no-trust out.',
      ),
    ]
  const [todo, why] = [
    'If you agree: beaver trust. To work without these settings: --no-trust. Beaver checked the others.',
    changed ? 'the folder has changed since you trusted it' : 'nobody trusted this folder yet',
  ]
  return [warn('trust', `${why}, so Beaver leaves out what it asks for: ${says}`, todo)]
}
