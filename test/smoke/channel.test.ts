// A chat that reaches Beaver: one message through a webhook channel of a gateway of the test's own, and its
// answer.
import { join } from 'node:path'
import { startGateway } from '@beaver/gateway'
import { loadConfig } from '@beaver/platform'
import { expect, it } from 'vitest'
import { only } from '../support/system.ts'
import { smokeScene } from '../support/smoke-scene.ts'
import { peerSecret, sendSigned, webhookPeer } from '../support/webhook-peer.ts'

it('a signed message of a webhook is a task of its user, and its answer goes out signed', async () => {
  const { server, system } = await smokeScene()
  await using peer = await webhookPeer()
  const channels = {
    chat: { type: 'webhook', url: peer.url, secret_env: 'HOOK', users: { Ada: 'ada' } },
  } as never
  const config = loadConfig(
    { home: join(system.workspace, '.beaver'), set: { gateway: { port: 0, channels } } },
    { HOOK: peerSecret },
    system.workspace,
  )
  const gateway = await startGateway(
    { ...config, namespace: system.subjects.namespace },
    { url: server.url, login: {} },
  )
  try {
    const taken = await sendSigned(`${gateway.info.url}/api/v1/channels/chat/messages`, {
      message_id: 'm1',
      text: 'Is anybody there?',
    })
    expect([taken.status, await taken.json()]).toMatchObject([202, { message_id: 'm1', duplicate: false }])
    const answer = await peer.answerTo('m1')
    expect(answer).toMatchObject({
      kind: 'answer',
      channel: 'chat',
      chat_id: 'c',
      text: 'You said: Is anybody there?',
    })
    expect(peer.delivered.map(({ signed }) => signed)).toEqual([true])
    const [submitted] = only(await system.events(answer.task_id ?? ''), 'task_submitted')
    expect(submitted?.data.request).toMatchObject({ text: 'Is anybody there?', user_id: 'ada' })
  } finally {
    await gateway.stop()
  }
})
