// A program that uses the gateway of a benched Beaver.
import { type ClientRequest, get as httpGet, request as httpRequest } from 'node:http'
import { tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchedBeaver } from '../beaver.ts'

/** A figure about tasks that fail says nothing. */
export function mustBeDone(status: string): void {
  if (status !== 'completed') throw new Error(`A task ended as ${status}.`)
}

export class Caller {
  readonly pid: number
  /** The address of the gateway. */
  readonly url: string
  readonly #headers: Readonly<Record<string, string>>

  private constructor(url: string, token: string, pid: number) {
    this.pid = pid
    this.url = url
    this.#headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  }

  /** Starts the gateway. @param nodeArgs options of Node.js for it */
  static async of(beaver: BenchedBeaver, nodeArgs: readonly string[] = []): Promise<Caller> {
    const token = await new TokenStore(tokensFile(beaver.home)).create('bench', {
      roles: ['admin'],
      now: new Date(),
    })
    const { url, pid } = await beaver.addGateway(nodeArgs)
    return new Caller(url, token, pid)
  }

  get(path: string): Promise<unknown> {
    return this.#answer(path)
  }

  post(path: string, body: object): Promise<unknown> {
    return this.#answer(path, body)
  }

  /** Asks, and waits for the answer. */
  async ask(message: string): Promise<void> {
    const { status } = (await this.post('/api/chat', { message })) as { status: string }
    mustBeDone(status)
  }

  /** @returns the task's id */
  async submit(task: string): Promise<string> {
    const { task_id } = (await this.post('/api/v1/tasks', { task })) as { task_id: string }
    return task_id
  }

  async #answer(path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${this.url}${path}`, {
      headers: this.#headers,
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
    return answer.json()
  }

  /** Waits until the read model has a task. */
  async known(taskId: string): Promise<void> {
    for (; ; await sleep(20))
      if ((await fetch(`${this.url}/api/v1/tasks/${taskId}`, { headers: this.#headers })).ok) return
  }

  /** Reads a stream of events. @param hear gets the type of each */
  read(path: string, hear: (type: string) => void): { close(): void } {
    const asked: ClientRequest = httpGet(
      `${this.url}${path}`,
      { headers: { ...this.#headers, accept: 'text/event-stream' } },
      (answer) => {
        let rest = ''
        answer.setEncoding('utf8').on('data', (text: string) => {
          const lines = (rest + text).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines) if (line.startsWith('event: ')) hear(line.slice(7))
        })
        answer.on('error', () => {})
      },
    )
    asked.on('error', () => {})
    return { close: () => void asked.destroy() }
  }

  /** @returns when the first piece of the answer was there; resolves when the answer has ended */
  firstPiece(path: string, body: object): Promise<number> {
    return new Promise((resolve, reject) => {
      let heardAt = 0
      const asked = httpRequest(
        `${this.url}${path}`,
        { method: 'POST', headers: this.#headers },
        (answer) => {
          answer.setEncoding('utf8').on('data', (text: string) => {
            if (heardAt === 0 && text.includes('"content":"First ')) heardAt = performance.now()
          })
          answer.on('end', () =>
            heardAt === 0
              ? reject(new Error(`${path} answered ${answer.statusCode} without a piece`))
              : resolve(heardAt),
          )
        },
      )
      asked.on('error', reject)
      asked.end(JSON.stringify(body))
    })
  }
}
