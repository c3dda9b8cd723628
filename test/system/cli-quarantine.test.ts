// `beaver quarantine`, `status` and `doctor` beside a journal into which a stranger wrote.
import { until } from '@beaver/testing'
import { expect, it, vi } from 'vitest'
import { placeIn, type Ran } from '../support/cli.ts'
import { strangeLog } from '../support/garbage.ts'
import { testServer } from '../support/nats.ts'
import { keptCommands } from '../support/kept-system.ts'
import { projectorProcess } from '../support/projector.ts'
import { testSystem } from '../support/system.ts'

vi.setConfig({ testTimeout: 240_000 })

it('lists the messages, shows one without its control characters, and tells status and doctor', async () => {
  const host = await keptCommands()
  await using server = await testServer()
  await using system = await testSystem(server)
  const { namespace } = system.subjects
  await using _projector = await projectorProcess({ url: server.url, namespace })
  const beaver = (...args: readonly string[]): Promise<Ran> => host.run(args, placeIn(server, system))
  expect((await beaver('quarantine')).out).toBe('No message is in quarantine.\n')
  const { seq } = (
    await system.nc.request(
      system.subjects.accepted(strangeLog()),
      `first\u001b]52;c;aGk=\u0007second ${'x'.repeat(5_000)}`,
    )
  ).json<{
    seq: number
  }>()
  await until(
    'the projector has seen it',
    async () => (await system.client.query('status')).quarantined === 1,
  )

  const list = await beaver('quarantine')
  expect(list.out).toMatch(/5,0\d\d .*the log of stranger\d+ .*it is not JSON/)
  expect(list.out).toContain('1 message in quarantine.')
  const shown = await beaver('quarantine', String(seq))
  expect(shown.out).toMatch(/firstsecond xxx/)
  expect(shown.out).not.toContain('\u001b')
  expect(shown.out.length).toBeLessThan(3_000)
  expect(JSON.parse((await beaver('quarantine', String(seq), '--json')).out)).toMatchObject({
    sequence: seq,
    bytes: 5_024,
  })
  expect(await beaver('quarantine', '99')).toMatchObject({
    exit: 1,
    err: expect.stringContaining('is not in quarantine') as string,
  })
  expect((await beaver('quarantine', 'x')).exit).toBe(2)
  expect((await beaver('status')).out).toContain('1 message in quarantine')
  expect((await beaver('status', '--json')).out).toContain(
    'Somebody who is no daemon can write to the journal.',
  )
  expect(await system.client.query('audit')).toMatchObject({ intact: false, heads: [] })
})
