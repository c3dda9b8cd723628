// The gateway as a process on a real port: what it reads and answers to, and what becomes of its clients when
// it stops or is killed.
import { mkdir, rmdir, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import type { StreamResponse } from '@a2a-js/sdk'
import { held, until } from '@beaver/testing'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { a2aClient, all, answerIn, held as heldText, message, ofTask, words } from '../support/a2a-agent.ts'
import { agUiAgent, fresh, ran, textIn } from '../support/ag-ui-agent.ts'
import { type FakeReply, say } from '../support/fake-provider.ts'
import { gatewayProcess } from '../support/gateway.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'

let scene: ProtocolScene
beforeAll(async () => {
  // The client of AG-UI writes every failure to the console.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  scene = await keptScene()
})

const authorized = (): Record<string, string> => ({
  authorization: `Bearer ${scene.tokens.admin}`,
  'content-type': 'application/json',
})

/** A request with any Host: `fetch` forbids it. */
async function statusAs(url: string, host: string): Promise<number | undefined> {
  const sent = request(`${url}/api/ping`, { headers: { host } })
  sent.end()
  const [answer] = (await once(sent, 'response')) as [{ statusCode?: number; resume(): void }]
  answer.resume()
  return answer.statusCode
}

/** What the gateway answers to a request of raw bytes that closes its connection. */
async function answerTo(url: string, head: readonly string[], body = ''): Promise<string> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(
    [
      ...head,
      `Host: ${host}`,
      `Authorization: Bearer ${scene.tokens.admin}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
  let answer = ''
  for await (const piece of socket.setEncoding('utf8')) answer += piece
  return answer
}

describe('a gateway', () => {
  it('reads a body in chunks, and takes a request without a body', async () => {
    const { info, stop } = await scene.start({ body_bytes_max: 1_024 })
    const json = 'Content-Type: application/json'
    const chunked = (text: string): Promise<string> =>
      answerTo(
        info.url,
        ['POST /api/v1/tasks HTTP/1.1', json, 'Transfer-Encoding: chunked'],
        `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
      )
    const accepted = await chunked('{"task":"hello"}')
    const id = /"task_id":"([^"]+)"/.exec(accepted)?.[1] ?? ''
    await scene.system.ended(id)
    const answers = [
      accepted,
      await chunked(JSON.stringify({ task: 'x'.repeat(1_024) })),
      await answerTo(info.url, [`POST /api/v1/tasks/${id}/cancel HTTP/1.1`]),
      await answerTo(
        info.url,
        ['POST /api/v1/tasks HTTP/1.1', json, 'Content-Length: 12'],
        Buffer.from('{"task":"\u00e9"}').toString('latin1').slice(0, 12),
      ),
    ]
    expect(answers.map((answer) => answer.slice(9, 12))).toEqual(['202', '413', '409', '400'])
    await stop()
  })

  it('answers to its own names alone, on this machine alone', async () => {
    const { info, stop } = await scene.start({ hosts: ['beaver.example'] })
    const { port } = new URL(info.url)
    expect(new URL(info.url).hostname).toBe('127.0.0.1')
    const hosts = [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      'beaver.example',
      `evil.example:${port}`,
      'localhost',
    ]
    expect(await Promise.all(hosts.map((host) => statusAs(info.url, host)))).toEqual([
      200, 200, 200, 403, 403,
    ])
    await stop()
  })

  it('takes the folder of a request relative to its own folder, and says which one does not exist', async () => {
    const { info, stop } = await scene.start()
    const ask = async (folder: string): Promise<readonly [number, unknown]> => {
      const body = JSON.stringify({ message: 'hello', workspace_dir: folder })
      const answer = await fetch(`${info.url}/api/chat`, { method: 'POST', headers: authorized(), body })
      return [answer.status, await answer.json()]
    }
    const path = join(scene.system.workspace, 'of-a-request')
    const missing = {
      code: 'workspace_missing',
      detail: `The folder ${path} does not exist. Name a folder that exists.`,
    }
    expect(await ask('./of-a-request')).toEqual([422, expect.objectContaining(missing)])
    await mkdir(path)
    expect(await ask('./of-a-request')).toEqual([200, expect.objectContaining({ status: 'completed' })])
    expect(await ask('../of-a-request')).toEqual([
      400,
      expect.objectContaining({ code: 'invalid_arguments' }),
    ])
    await rmdir(path)
    await stop()
  })

  it('says that its port is taken, and what to do', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    await expect(scene.start({ port })).rejects.toMatchObject({
      code: 'start_failed',
      message: expect.stringContaining(`The port ${port}`) as string,
    })
    taken.close()
  })
})

describe('the clients of a gateway', () => {
  it('that stops have their streams ended, and go on at the next one where they were', async () => {
    const first = await scene.start()
    const gate = held<FakeReply>()
    const stopped = 'Go on after the stop.'
    scene.system.provider.answerBy(({ text }) => (text === stopped ? gate.promise : say('ok')))
    const submitted = await fetch(`${first.info.url}/api/v1/tasks`, {
      method: 'POST',
      headers: authorized(),
      body: JSON.stringify({ task: stopped }),
    })
    const { task_id } = (await submitted.json()) as { task_id: string }
    const stream = await fetch(`${first.info.url}/api/v1/tasks/${task_id}/events`, {
      headers: { ...authorized(), accept: 'text/event-stream' },
    })
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ''
    while (!seen.includes('run_started')) seen += (await reader?.read())?.value ?? ''
    await until('the model is asked', () => scene.system.provider.about(stopped).length === 1)
    const waiting = fetch(`${first.info.url}/api/chat`, {
      method: 'POST',
      headers: authorized(),
      body: JSON.stringify({ message: stopped }),
    })
    await until('the chat is accepted', () => scene.system.provider.about(stopped).length === 2)
    await first.stop()
    for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read())
      seen += piece.value
    expect(seen).toMatch(/\nevent: error\ndata: .*"code":"wrong_state".*\n\n$/)
    const answer = await waiting
    expect([answer.status, await answer.json()]).toEqual([
      504,
      expect.objectContaining({ detail: expect.stringMatching(/continues as task task_/) as string }),
    ])
    const last = [...seen.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? ''
    gate.settle(say('done'))
    const rest = await fetch(`${scene.gateway.info.url}/api/v1/tasks/${task_id}/events`, {
      headers: { ...authorized(), accept: 'text/event-stream', 'last-event-id': last },
    })
    const text = await rest.text()
    expect([/^id: (\d+)$/m.exec(text)?.[1], text.includes('event: task_completed')]).toEqual([
      String(Number(last) + 1),
      true,
    ])
    scene.again()
  })

  it('that is killed are cut off, and follow their tasks at another one: of A2A by the task or the same message, of AG-UI by the same run', async () => {
    const { server, system } = scene
    const config = join(system.workspace, 'gateway.json')
    await writeFile(config, JSON.stringify({ gateway: { port: 0 } }))
    const env = {
      NATS_URL: server.url,
      BEAVER_NAMESPACE: system.subjects.namespace,
      BEAVER_HOME: join(system.workspace, '.beaver'),
      BEAVER_CONFIG: config,
    }
    const { url, exited, kill } = await gatewayProcess({ cwd: system.workspace, env })
    const sent = message('wait killed_a2a')
    const cut = (await a2aClient(scene, 'ann', { at: { info: { url } } })).sendMessageStream(sent)
    const { value } = (await cut.next()) as { value: StreamResponse }
    const id = value.payload?.$case === 'task' ? value.payload.value.id : ''
    const threadId = fresh('thread')
    const messages = [{ id: fresh('user'), role: 'user' as const, content: 'wait killed_agui' }]
    const agent = Object.assign(agUiAgent(scene, { threadId, at: url }), { messages })
    const run = agent.runAgent({ runId: 'killed' }).then(
      () => 'ended',
      () => 'cut',
    )
    await until('the model is asked about both', () =>
      ['a2a', 'agui'].every((name) => system.provider.about(`wait killed_${name}`).length > 0),
    )
    kill('SIGKILL')
    await exited
    expect(await run).toBe('cut')
    await expect(all(cut)).rejects.toThrow()
    const client = await a2aClient(scene, 'ann')
    const again = [client.resubscribeTask(ofTask(id)), client.sendMessageStream(sent)]
    const firsts = await Promise.all(again.map((stream) => stream.next()))
    expect(firsts.map((each) => (each.value as StreamResponse).payload)).toMatchObject([
      { value: { id } },
      { value: { id } },
    ])
    const followed = ran(Object.assign(agUiAgent(scene, { threadId }), { messages }), null, {
      runId: 'killed',
    })
    for (const name of ['a2a', 'agui']) scene.answer(`killed_${name}`, say(`all is well with ${name}`))
    for (const rest of await Promise.all(again.map(all)))
      expect([heldText(rest), words(rest).at(-1)]).toEqual(['all is well with a2a', 'COMPLETED'])
    expect(answerIn(await client.getTask({ tenant: '', id }))).toBe('all is well with a2a')
    expect(textIn((await followed).events)).toBe('all is well with agui')
    for (const name of ['a2a', 'agui']) expect(system.provider.about(`wait killed_${name}`)).toHaveLength(1)
  })
})
