import { expect, it } from 'vitest'
import { acceptedLines, kindAmong } from './audit-state.ts'

const lost = (n: number) => ({
  kind: 'unreadable' as const,
  message: `Message ${n} cannot be read.`,
  harmful: false,
})

it('says one number for sixty findings, and shows the first three', () => {
  const findings = [
    ...Array.from({ length: 59 }, (_, i) => lost(i)),
    { kind: 'server_lost_data' as const, message: 'The server lost data.', harmful: true },
  ]
  expect(acceptedLines({ findings, sequence: 4711 })).toEqual([
    'Accepted: 60 findings (59 unreadable, 1 server lost data). The journal is accepted as it is, up to message 4,711.',
    '  Message 0 cannot be read.',
    '  Message 1 cannot be read.',
    '  Message 2 cannot be read.',
    '  and 57 more, which --json prints. Beaver keeps all of them with the acceptance.',
  ])
})

it('shows all of a few findings, and says so if there is none', () => {
  expect(acceptedLines({ findings: [lost(1)], sequence: 2 })).toEqual([
    'Accepted: 1 finding (1 unreadable). The journal is accepted as it is, up to message 2.',
    '  Message 1 cannot be read.',
  ])
  expect(acceptedLines({ findings: [], sequence: 2 })).toEqual([
    'Nothing was wrong. The journal is accepted as it is, up to message 2.',
  ])
})

it('a daemon that found what the projector found has found something of the same kind', () => {
  const found = [
    {
      kind: 'rolled_back' as const,
      message: 'The journal X ends at message 848, and it ended at message 1122 before.',
      harmful: true,
    },
  ]
  expect(kindAmong(found, 'The journal X ends at message 848, and it ended at message 1038 before.')).toBe(
    'rolled_back',
  )
  expect(kindAmong(found, 'The journal X was made again.')).toBe('replaced')
})
