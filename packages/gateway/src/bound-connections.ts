// Bounds the connections of the gateway: all of them, and those of one address. A connection above a bound
// gets a problem with `Retry-After` at once and is closed. Beside the port there is a socket in the home of
// the gateway, which only the user of the operating system who runs the gateway can open. Its connections
// count for no bound, so the operator gets in when everything else is full.
import { rmSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { type Server, STATUS_CODES } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { HttpProblem, problemOf } from '@beaver/http'
import { makeFolder } from '@beaver/platform'

/** How long a refused connection may take to read why, in milliseconds. */
const readMsMax = 1_000
/** How many refused connections may read why at a time. Others are closed without an answer. */
const refusedMax = 100
/** The longest path of a socket that every system takes. */
const pathBytesMax = 100

/** The operator's socket of a gateway at this port. */
export const operatorSocket = (home: string, port: number): string =>
  join(home, 'gateway', `operator-${port}.sock`)

interface ConnectionBounds {
  readonly connectionsMax: number
  readonly ofAddressMax: number
}

interface Sockets {
  /** Gets the connections that were refused. Their requests get no second answer. */
  readonly refused: WeakSet<Socket>
  /** The connections of the operator's socket. */
  readonly operators: WeakSet<Socket>
  /** Called for each connection that is refused. */
  readonly onRefused?: (() => void) | undefined
}

/** Refuses connections of `server` above the bounds. */
export function boundConnections(
  server: Server,
  { connectionsMax, ofAddressMax }: ConnectionBounds,
  { refused, operators, onRefused }: Sockets,
): void {
  const open = new Map<string, number>()
  let all = 0
  // Node.js closes what comes above this without an answer.
  server.maxConnections = connectionsMax + refusedMax
  server.on('connection', (socket) => {
    if (operators.has(socket)) return
    const address = clientOf(socket.remoteAddress ?? '')
    const ofAddress = open.get(address) ?? 0
    const problem =
      all >= connectionsMax
        ? full(`The gateway has ${connectionsMax} connections`)
        : ofAddress >= ofAddressMax
          ? tooMany(`Your address has ${ofAddressMax} connections`)
          : null
    if (problem !== null) {
      refused.add(socket)
      onRefused?.()
      return refuse(socket, problem)
    }
    all++
    open.set(address, ofAddress + 1)
    socket.once('close', () => {
      all--
      const left = (open.get(address) ?? 1) - 1
      if (left === 0) open.delete(address)
      else open.set(address, left)
    })
  })
}

/** Which client an address stands for. One client has all IPv6 addresses that begin with the same 64 bits. */
export function clientOf(address: string): string {
  const bare = address.replace(/^::ffff:(?=[\d.]+$)/i, '').replace(/%.*$/, '')
  if (!bare.includes(':')) return bare
  const [before = [], after = []] = bare
    .split('::')
    .map((part) => part.split(':').filter((each) => each !== ''))
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}

const headers = { 'retry-after': '2' }
const full = (what: string): HttpProblem =>
  new HttpProblem('too_many_connections', `${what}, which is the most. Come again in 2 s.`, { headers })
const tooMany = (what: string): HttpProblem =>
  new HttpProblem('too_many_requests', `${what}, which is the most. Close some, or come again in 2 s.`, {
    headers,
  })

function refuse(socket: Socket, problem: HttpProblem): void {
  const { details, headers: own } = problemOf(problem)
  const body = JSON.stringify(details)
  const head = [
    `HTTP/1.1 ${details.status} ${STATUS_CODES[details.status]}`,
    'Content-Type: application/problem+json',
    'Cache-Control: no-store',
    ...Object.entries(own).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.on('error', () => {})
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  const late = setTimeout(() => socket.destroy(), readMsMax)
  socket.once('close', () => clearTimeout(late))
}

/**
 * Passes the connections of the operator's socket to `server`.
 *
 * @returns closes the socket; `null` if the path is too long for a socket
 */
export async function openOperatorSocket(
  server: Server,
  path: string,
  operators: WeakSet<Socket>,
): Promise<(() => void) | null> {
  if (Buffer.byteLength(path) > pathBytesMax) return null
  makeFolder(dirname(path))
  rmSync(path, { force: true }) // It is left from a gateway that was killed: the port is ours.
  const door = createServer({ allowHalfOpen: true }, (socket) => {
    operators.add(socket)
    server.emit('connection', socket)
  })
  await new Promise<void>((resolve, reject) => door.once('error', reject).listen(path, resolve))
  await chmod(path, 0o600)
  return () => void door.close()
}
