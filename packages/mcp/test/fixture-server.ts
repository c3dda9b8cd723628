// An MCP server for tests, as a program. What it does is told by its arguments and by FIXTURE_DIR, a folder
// of its own: each start appends its pid to `starts`, each call a line to `calls`; `mode` there wins over the
// argument.
import { appendFileSync, existsSync, readFileSync, watch } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const folder = process.env['FIXTURE_DIR'] ?? '.'
const file = (name: string): string => join(folder, name)
const said = existsSync(file('mode')) ? readFileSync(file('mode'), 'utf8').trim() : ''
const mode = said === '' ? (process.argv[2] ?? 'plain') : said
appendFileSync(file('starts'), `${process.pid}\n`)

switch (mode) {
  case 'exit':
    process.stderr.write('fixture: the licence has expired\n')
    process.exit(7)
  case 'silent':
    process.stdin.resume()
    setInterval(() => {}, 1_000)
    break
  case 'exits-when-asked':
    exitsWhenAsked()
    break
  case 'stubborn':
    process.on('SIGTERM', () => {})
    setInterval(() => {}, 1_000)
    serve()
    break
  case 'with-child': {
    const child = spawn('sleep', ['600'], { stdio: 'ignore' })
    appendFileSync(file('children'), `${child.pid}\n`)
    serve()
    break
  }
  case 'garbage':
    process.stdout.write('Welcome to the fixture!\n{"half": \n\n[1, 2]\n')
    serve()
    break
  case 'flood':
    for (let i = 0; i < 5_000; i++) process.stdout.write('this is no MCP\n')
    setInterval(() => {}, 1_000)
    break
  default:
    serve()
}

function serve(): void {
  // The watch below would keep it alive.
  if (mode !== 'stubborn') process.stdin.on('end', () => process.exit(0))
  const changing: { readonly tool: { update(to: { description: string }): void } }[] = []
  serveStdio(() => {
    const server = new McpServer(
      { name: 'fixture', version: '1.2.3' },
      { capabilities: { tools: { listChanged: true } } },
    )
    const empty = z.strictObject({})
    server.registerTool(
      'add',
      {
        description: 'Adds two numbers.',
        inputSchema: z.strictObject({ a: z.number(), b: z.number() }),
        annotations: { readOnlyHint: true },
      },
      ({ a, b }) => {
        called('add')
        return { content: [{ type: 'text', text: String(a + b) }] }
      },
    )
    server.registerTool('fail', { description: 'Fails.', inputSchema: empty }, () => ({
      isError: true,
      content: [{ type: 'text', text: 'The disk is full.' }],
    }))
    server.registerTool(
      'die',
      { description: 'Ends the server in the middle of the call.', inputSchema: empty },
      () => {
        called('die')
        process.stderr.write('fixture: out of cheese\n')
        process.exit(3)
      },
    )
    server.registerTool('hang', { description: 'Never answers.', inputSchema: empty }, (_, { mcpReq }) => {
      called('hang')
      mcpReq.signal.addEventListener('abort', () => called('cancelled'))
      return new Promise(() => {})
    })
    server.registerTool('block', { description: 'Blocks the whole server.', inputSchema: empty }, () => {
      called('block')
      for (;;);
    })
    server.registerTool(
      'big',
      { description: 'Answers with 300,000 characters.', inputSchema: empty },
      () => ({
        content: [{ type: 'text', text: 'x'.repeat(300_000) }],
      }),
    )
    server.registerTool(
      'mixed',
      { description: 'Answers with all kinds of content.', inputSchema: empty },
      () => ({
        content: [
          { type: 'text', text: 'One.' },
          {
            type: 'image',
            mimeType: 'image/gif',
            data: Buffer.from('GIF89a\u0003\0\u0002\0\u0080\0\0', 'latin1').toString('base64'),
          },
          { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'hello' } },
        ],
        structuredContent: { total: 3 },
      }),
    )
    server.registerTool('environment', { description: 'Tells its environment.', inputSchema: empty }, () => ({
      content: [{ type: 'text', text: JSON.stringify(process.env) }],
    }))
    const described = existsSync(file('description'))
      ? readFileSync(file('description'), 'utf8')
      : 'As it was.'
    const long = mode === 'long' ? 'y'.repeat(10_000_000) : described
    const tool = server.registerTool('changing', { description: long, inputSchema: empty }, () => ({
      content: [{ type: 'text', text: 'changed or not' }],
    }))
    changing.push({ tool })
    return server
  })
  // A new text in the file `description` is a new description, told by a notification.
  watch(folder, (_, name) => {
    if (name !== 'description' || !existsSync(file('description'))) return
    const description = readFileSync(file('description'), 'utf8')
    if (description !== '') for (const { tool } of changing) tool.update({ description })
  })
}

function called(what: string): void {
  appendFileSync(file('calls'), `${what}\n`)
}

/** As servers of some libraries do: anything before `initialize` is the end. */
function exitsWhenAsked(): void {
  process.stdin.once('data', (bytes: Buffer) => {
    const first = bytes.toString('utf8')
    if (!first.includes('"initialize"')) process.exit(1)
    const { id } = JSON.parse(first.split('\n')[0] ?? '') as { id: number }
    process.stdout.write(
      `${JSON.stringify({ jsonrpc: '2.0', id, result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'old', version: '0' } } })}\n`,
    )
  })
}
