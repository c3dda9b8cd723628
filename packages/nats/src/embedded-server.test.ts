import { expect, it } from 'vitest'
import { lastErrorIn } from './embedded-server.ts'

const log = `[7] 2026/11/23 07:00:00.000001 [INF] Starting nats-server
[7] 2026/11/23 07:00:00.000002 [ERR] JetStream is slow
[7] 2026/11/23 07:00:00.000003 [FTL] Error listening on port: 4222, "address already in use"
[7] 2026/11/23 07:00:00.000004 [INF] Server Exiting..
`

it.each([
  [
    'the last error or fatal line, without what stands before it',
    log,
    'Error listening on port: 4222, "address already in use"',
  ],
  [
    'nothing, where nothing went wrong',
    '[7] 2026/11/23 07:00:00.000001 [INF] Server is ready [ERRATA]\n',
    null,
  ],
  ['nothing, where there is no log', '', null],
])('of the log of a nats-server, %s', (_, text, said) => expect(lastErrorIn(text)).toBe(said))
