// A mailbox behind IMAP (RFC 3501, with IDLE), as far as a client needs it that searches, fetches the
// beginning of mails, and sets flags. It is the other side of the e-mail channel. What it holds survives its
// connections, like the mailbox of a real server.
import { createServer, type AddressInfo, type Socket } from 'node:net'

export interface KeptMail {
  readonly uid: number
  readonly raw: Buffer
  readonly flags: Set<string>
}

export interface ImapServer extends AsyncDisposable {
  readonly port: number
  readonly mails: readonly KeptMail[]
  /** What clients asked, without passwords. */
  readonly commands: readonly string[]
  /** How many connections there were. */
  readonly connections: number
  /** A mail comes. */
  deliver(raw: string | Buffer): KeptMail
  /** Ends all connections. */
  cutOff(): void
  /** From now on each command of this name ends its connection before it is carried out, so many times. */
  breakAt(command: string, times: number): void
  /** From now on logins are refused. */
  refuseLogins(): void
}

export const imapUser = { user: 'beaver', password: 'secret"\\of mail' } as const

/** @param keywords whether the server keeps keywords */
export async function imapServer({
  keywords = true,
}: { readonly keywords?: boolean } = {}): Promise<ImapServer> {
  const box = {
    mails: [] as KeptMail[],
    commands: [] as string[],
    broken: new Map<string, number>(),
    refuses: false,
    keywords,
  }
  const sockets = new Set<Socket>()
  const idle = new Set<Socket>()
  /** Of how many mails a client was told. One that came before it waits is told when it does. */
  const told = new Map<Socket, number>()
  let connections = 0
  const server = createServer({ noDelay: true }, (socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => {
      sockets.delete(socket)
      idle.delete(socket)
      told.delete(socket)
    })
    serve(socket, box, { idle, told })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cutOff = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    mails: box.mails,
    commands: box.commands,
    get connections() {
      return connections
    },
    deliver(raw) {
      const mail = { uid: box.mails.length + 1, raw: Buffer.from(raw), flags: new Set<string>() }
      box.mails.push(mail)
      for (const socket of idle) {
        told.set(socket, box.mails.length)
        socket.write(`* ${box.mails.length} EXISTS\r\n`)
      }
      return mail
    },
    cutOff,
    breakAt: (command, times) => void box.broken.set(command, times),
    refuseLogins: () => void (box.refuses = true),
    async [Symbol.asyncDispose]() {
      cutOff()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface Box {
  readonly mails: KeptMail[]
  readonly commands: string[]
  readonly broken: Map<string, number>
  refuses: boolean
  readonly keywords: boolean
}

function serve(
  socket: Socket,
  box: Box,
  { idle, told }: { readonly idle: Set<Socket>; readonly told: Map<Socket, number> },
): void {
  let received = ''
  let idling = ''
  socket.write('* OK [CAPABILITY IMAP4rev1 IDLE] ready\r\n')
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
    for (let end = received.indexOf('\r\n'); end >= 0; end = received.indexOf('\r\n')) {
      const line = received.slice(0, end)
      received = received.slice(end + 2)
      if (idling !== '' && line.toUpperCase() === 'DONE') {
        idle.delete(socket)
        socket.write(`${idling} OK done\r\n`)
        idling = ''
        continue
      }
      const [tag = '', ...words] = line.split(' ')
      const [name, rest] =
        words[0]?.toUpperCase() === 'UID'
          ? [`UID ${words[1]?.toUpperCase()}`, words.slice(2)]
          : [words[0]?.toUpperCase() ?? '', words.slice(1)]
      box.commands.push(name)
      const breaks = box.broken.get(name) ?? 0
      if (breaks > 0) {
        box.broken.set(name, breaks - 1)
        return void socket.destroy()
      }
      if (name === 'IDLE') {
        idling = tag
        idle.add(socket)
        socket.write('+ idling\r\n')
        if (box.mails.length > (told.get(socket) ?? 0)) socket.write(`* ${box.mails.length} EXISTS\r\n`)
        told.set(socket, box.mails.length)
        continue
      }
      if (name === 'SELECT') told.set(socket, box.mails.length)
      for (const piece of answer(name, rest.join(' '), box)) socket.write(piece)
      const refused =
        (name === 'LOGIN' || name.startsWith('AUTH')) &&
        (box.refuses || !rest.join(' ').includes(`"${imapUser.password.replaceAll(/["\\]/g, '\\$&')}"`))
      socket.write(
        refused
          ? `${tag} NO [AUTHENTICATIONFAILED] wrong\r\n`
          : `${tag} OK ${name === 'SELECT' ? '[READ-WRITE] ' : ''}done\r\n`,
      )
      if (name === 'LOGOUT') socket.end()
    }
  })
}

function answer(name: string, rest: string, { mails, keywords }: Box): readonly (string | Buffer)[] {
  switch (name) {
    case 'CAPABILITY':
      return ['* CAPABILITY IMAP4rev1 IDLE\r\n']
    case 'LIST':
    case 'LSUB':
      return [`* ${name} () "/" INBOX\r\n`]
    case 'SELECT':
      return [
        `* FLAGS (\\Answered \\Seen)\r\n* OK [PERMANENTFLAGS (\\Answered \\Seen${keywords ? ' \\*' : ''})] flags\r\n`,
        `* ${mails.length} EXISTS\r\n* 0 RECENT\r\n* OK [UIDVALIDITY 1] uids\r\n* OK [UIDNEXT ${mails.length + 1}] next\r\n`,
      ]
    case 'LOGOUT':
      return ['* BYE bye\r\n']
    case 'UID SEARCH': {
      const [, without = ''] = /UNKEYWORD (\S+)/.exec(rest) ?? []
      const mark = rest.includes('UNANSWERED') ? '\\Answered' : without
      return [
        `* SEARCH ${mails
          .filter(({ flags }) => !flags.has(mark))
          .map(({ uid }) => uid)
          .join(' ')}\r\n`,
      ]
    }
    case 'UID FETCH': {
      const [uid = ''] = rest.split(' ')
      const mail = mails[Number(uid) - 1]
      if (mail === undefined) return []
      const [, , most = ''] = /BODY\.PEEK\[\]<(\d+)\.(\d+)>/.exec(rest) ?? []
      const part = mail.raw.subarray(0, Number(most))
      return [
        `* ${uid} FETCH (UID ${uid} RFC822.SIZE ${mail.raw.length} INTERNALDATE "24-Nov-2026 02:00:00 +0000" BODY[]<0> {${part.length}}\r\n`,
        part,
        ')\r\n',
      ]
    }
    case 'UID STORE': {
      const [, uid = '', list = ''] = /^(\S+) \+FLAGS(?:\.SILENT)? \(([^)]*)\)/.exec(rest) ?? []
      for (const flag of list.split(' ')) mails[Number(uid) - 1]?.flags.add(flag)
      return [
        `* ${uid} FETCH (UID ${uid} FLAGS (${[...(mails[Number(uid) - 1]?.flags ?? [])].join(' ')}))\r\n`,
      ]
    }
    default:
      return []
  }
}
