// The heap that a Node.js process uses after a full collection. SIGUSR1 opens its inspector on loopback; two
// requests later it is known. The process must have been started with `--inspect-port` of its own.
import { setTimeout as sleep } from 'node:timers/promises'

const portsTried = 50

export async function heapOf(pid: number, port: number): Promise<number> {
  process.kill(pid, 'SIGUSR1')
  const url = await socketUrl(port)
  const socket = new WebSocket(url)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', () => reject(new Error(`The inspector of ${pid} cannot be reached.`)), {
      once: true,
    })
  })
  let last = 0
  const ask = (method: string): Promise<Record<string, number>> => {
    const id = ++last
    return new Promise((resolve) => {
      const hear = ({ data }: { data: unknown }): void => {
        const answer = JSON.parse(String(data)) as { id?: number; result: Record<string, number> }
        if (answer.id !== id) return
        socket.removeEventListener('message', hear)
        resolve(answer.result)
      }
      socket.addEventListener('message', hear)
      socket.send(JSON.stringify({ id, method }))
    })
  }
  for (let i = 0; i < 3; i++) await ask('HeapProfiler.collectGarbage')
  const { usedSize = NaN } = await ask('Runtime.getHeapUsage')
  socket.close()
  return usedSize
}

async function socketUrl(port: number): Promise<string> {
  for (let tries = 0; tries < portsTried; tries++) {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`).catch(() => null)
    const [target] = answer === null ? [] : ((await answer.json()) as { webSocketDebuggerUrl: string }[])
    if (target !== undefined) return target.webSocketDebuggerUrl
    await sleep(100)
  }
  throw new Error(`No inspector answers on port ${port}.`)
}
