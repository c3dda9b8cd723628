// A person logs in to an MCP server of a daemon that runs. The server repeats every token that it knows; the
// journal and the model get none of them.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '@beaver/core'
import { logIn, loginPlace, mcpLoginsFolder } from '@beaver/mcp'
import { oauthFixture, until } from '@beaver/testing'
import { expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { testServer } from '../support/nats.ts'
import { only, testSystem } from '../support/system.ts'

it('keeps the tokens of a server out of the journal, the requests and the log, also after they were renewed', async () => {
  await using nats = await testServer()
  await using web = await oauthFixture()
  const spec = {
    url: web.mcp.url,
    headers: {},
    permission: 'allow' as const,
    timeout_ms: 10_000,
    restarts_max: 5,
  }
  await using system = await testSystem(nats, { mcp: { web: { url: web.mcp.url, permission: 'allow' } } })
  const folder = mcpLoginsFolder(join(system.workspace, '.beaver'))
  const seen = new Set<string>()
  const tokens = async (): Promise<void> => {
    const { tokens: held } = JSON.parse(await readFile(join(folder, 'web.json'), 'utf8')) as {
      tokens: { access_token: string; refresh_token: string }
    }
    seen.add(held.access_token).add(held.refresh_token)
  }
  web.mcp.answers['tools/call'] = async () => {
    await tokens()
    const text = [...seen].map((token) => `${token} ${Buffer.from(token).toString('base64')}`).join(' ')
    return { content: [{ type: 'text', text: `I know ${text}.` }] }
  }
  system.provider.answerBy(({ messages, results }) =>
    messages.at(-1)?.role === 'tool' ? say(`It said: ${results.at(-1)}`) : use(['web_look', {}]),
  )
  const daemon = await system.daemon({ BEAVER_WORKER_THREADS: '2' })
  const place = loginPlace(spec, { server: 'web', environment: {}, folder, clock: systemClock })
  await logIn({ ...place, show: (page) => void web.logIn(page), signal: AbortSignal.timeout(10_000) })

  const journals: string[] = []
  const call = async (): Promise<boolean> => {
    const { task_id } = await system.client.submit({ task: 'look' })
    const events = await system.ended(task_id)
    journals.push(JSON.stringify(events))
    return only(events, 'tool_result_recorded')[0]?.data.success === true
  }
  await until('the tool can be called', call)
  web.expire()
  expect(await call()).toBe(true)
  expect(seen.size).toBe(4)
  const told = [...journals, ...system.provider.requests.map(({ body }) => body), daemon.stderr].join('\n')
  expect(journals.at(-1)).toContain('I know [secret:mcp.web.token]')
  for (const token of seen)
    for (const text of [token, Buffer.from(token).toString('base64')]) expect(told).not.toContain(text)
})
