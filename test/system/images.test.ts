// Images end to end: a task names them, agents look at them, the journal has references, and the model gets
// the bytes; through a real daemon.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { BeaverClient } from '@beaver/client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { refuse, say, type SeenRequest, use } from '../support/fake-provider.ts'
import { type TestServer, testServer } from '../support/nats.ts'
import { type TestServices, testServices } from '../support/service.ts'

let server: TestServer
let kit: TestServices
let client: BeaverClient
beforeAll(async () => {
  server = await testServer()
  kit = await testServices(server)
  // What an endpoint refuses once, its model is not asked again.
  const blind = { name: 'blind-model', base_url: kit.provider.url }
  const service = kit.service({
    config: { models: { blind } },
    profiles: [{ name: 'blind', model: 'blind' }],
  })
  await service.start()
  client = service.client
})
afterAll(async () => {
  await kit[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

let workspaces = 0
/** A folder that no other test works in. */
async function newWorkspace(): Promise<string> {
  const workspace = join(kit.workspace, `images-${++workspaces}`)
  await mkdir(workspace)
  return workspace
}

const gif = (width: number, height: number): Buffer =>
  Buffer.from(`GIF89a${String.fromCharCode(width, 0, height, 0)}\u0080\0\0`, 'latin1')

/** The SHA-256 of each image of a request, from the bytes that came. */
const seenIn = ({ body }: SeenRequest): string[] =>
  [...body.matchAll(/"url":"data:image\/gif;base64,([^"]+)"/g)].map(([, base64 = '']) =>
    hash('sha256', Buffer.from(base64, 'base64')),
  )

it('a root is shown the images of its task, looks at another one, and the journal has references alone', async () => {
  const workspace = await newWorkspace()
  await writeFile(join(workspace, 'chart.gif'), gif(3, 2))
  await writeFile(join(workspace, 'other.gif'), gif(9, 9))
  await writeFile(join(workspace, 'third.gif'), gif(7, 7))
  kit.provider.answerBy((request) => {
    const looks = [
      ['view_image', 'other.gif'],
      ['read_file', 'third.gif'],
    ][request.results.length]
    return looks === undefined ? say(seenIn(request).join(' ')) : use([looks[0] ?? '', { path: looks[1] }])
  })
  const task = await client.submit({ task: 'What is it?', workspace, images: ['chart.gif'] })
  await writeFile(join(workspace, 'chart.gif'), 'changed')
  const { final_output: output, status } = await client.run({
    task: 'What is it?',
    workspace,
    images: ['other.gif'],
  })
  expect([status, output]).toEqual([
    'completed',
    [gif(9, 9), gif(9, 9), gif(7, 7)].map((each) => hash('sha256', each)).join(' '),
  ])
  const told: string[] = []
  let ended = ''
  for await (const event of client.watch(task.task_id)) {
    told.push(JSON.stringify(event))
    if (event.type === 'task_completed') ended = event.data.final_output
  }
  expect(ended).toBe([gif(3, 2), gif(9, 9), gif(7, 7)].map((each) => hash('sha256', each)).join(' '))
  expect(told.find((each) => each.startsWith('{"type":"user_message_added"'))).toContain('"name":"chart.gif"')
  expect(told.join()).not.toContain(gif(3, 2).toString('base64'))
})

it('a model that takes none is told what it cannot see, and a request for a file that is none is refused', async () => {
  const workspace = await newWorkspace()
  await writeFile(join(workspace, 'chart.gif'), gif(3, 2))
  await writeFile(join(workspace, 'drawing.svg'), '<svg></svg>')
  kit.provider.answerBy((request) =>
    request.body.includes('image_url')
      ? refuse(
          500,
          'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
        )
      : say(request.text),
  )
  const { final_output: output } = await client.run({
    task: 'What is it?',
    workspace,
    profile: 'blind',
    images: ['chart.gif'],
  })
  expect(output).toBe(
    'What is it?\n[image chart.gif 3×2 gif 13 B: it is not shown, because this model takes no images]',
  )
  await expect(client.submit({ task: 'x', workspace, images: ['drawing.svg'] })).rejects.toMatchObject({
    code: 'invalid_arguments',
    problems: [{ path: 'images.0', code: 'not_an_image' }],
  })
})

it('an image that does not fit into a message comes in parts, and one that is too large is refused with its limit', async () => {
  const workspace = await newWorkspace()
  const large = Buffer.concat([gif(3, 2), Buffer.alloc(1_200_000, 'pixels')])
  const asked = { task: 'What is it?', task_id: 'large', workspace }
  await expect(
    client.submit({ ...asked, images: [{ data: Buffer.alloc(5_000_002).toString('base64') }] }),
  ).rejects.toMatchObject({
    code: 'too_large',
    message: expect.stringContaining('at most 5000000 are taken'),
  })
  kit.provider.answerBy((request) => say(seenIn(request).join(' ')))
  const images = [{ data: large.toString('base64'), name: 'pasted.gif' }]
  expect(await client.run({ ...asked, images })).toMatchObject({
    status: 'completed',
    final_output: hash('sha256', large),
  })
  // The same image is the same request.
  expect(await client.submit({ ...asked, images })).toMatchObject({ task_id: 'large' })
  await expect(
    client.submit({ ...asked, images: [{ data: Buffer.concat([large, large]).toString('base64') }] }),
  ).rejects.toMatchObject({ code: 'conflict' })
})

it('an image that the server of a model cannot use costs a text, not the task', async () => {
  const workspace = await newWorkspace()
  await writeFile(join(workspace, 'good.gif'), gif(3, 2))
  await writeFile(join(workspace, 'bad.gif'), gif(66, 6))
  const bad = gif(66, 6).toString('base64')
  kit.provider.answerBy((request) => {
    if (request.body.includes(bad)) return refuse(400, 'Could not process image')
    return request.results.length === 0
      ? use(['view_image', { path: 'bad.gif' }])
      : say(`${seenIn(request).join(' ')} ${request.text}`)
  })
  const { final_output: output, status } = await client.run({
    task: 'What is it?',
    workspace,
    images: ['good.gif'],
  })
  expect([status, output.startsWith(hash('sha256', gif(3, 2)))]).toEqual(['completed', true])
  expect(output).toContain('it is not shown, because the server of this model cannot use it')
})

it('a request that is repeated names the same task, also when the file is gone or is another one', async () => {
  const workspace = await newWorkspace()
  kit.provider.answerBy((request) => say(seenIn(request).join(' ')))
  const file = join(workspace, 'chart.gif')
  await writeFile(file, gif(3, 2))
  const inline = { data: gif(4, 4).toString('base64') }
  const asked = { task: 'What is it?', task_id: 'twice', workspace, images: ['chart.gif', inline] }
  const { final_output: first } = await client.run(asked)
  for (const change of [
    () => writeFile(file, gif(9, 9)),
    () => writeFile(file, 'no image'),
    () => rm(file),
  ]) {
    await change()
    expect(await client.submit(asked)).toMatchObject({ task_id: 'twice' })
    expect((await client.run({ ...asked, images: ['./chart.gif', inline] })).final_output).toBe(first)
  }
  for (const images of [
    ['other.gif', inline],
    ['chart.gif'],
    ['chart.gif', { data: gif(5, 5).toString('base64') }],
    [inline, 'chart.gif'],
  ])
    await expect(client.submit({ ...asked, images })).rejects.toMatchObject({ code: 'conflict' })
  await expect(client.submit({ ...asked, images: [inline, { data: 'bm8gaW1hZ2U=' }] })).rejects.toMatchObject(
    {
      problems: [{ path: 'images.1', code: 'not_an_image' }],
    },
  )
  await expect(client.submit({ ...asked, task_id: 'other' })).rejects.toMatchObject({
    code: 'invalid_arguments',
    problems: [{ path: 'images.0' }],
  })
})
