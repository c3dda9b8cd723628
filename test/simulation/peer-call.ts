// A question from one simulated daemon to another, over core NATS: no answer comes when it is lost, or the
// other one hangs.
import type { SimDaemon } from './daemon.ts'
import type { Life } from './life.ts'
import type { Scheduler } from './scheduler.ts'

export interface Calling {
  readonly life: Life
  readonly scheduler: Scheduler
  /** Another daemon, by its id. */
  readonly peer: (id: string) => SimDaemon | undefined
}

/** Asks another daemon; `null` when no answer comes, which may be said without waiting. */
export function callPeer<T>(
  from: Calling,
  owner: string,
  answerMsMax: number,
  carryOut: (peer: SimDaemon) => Promise<T> | T,
): Promise<T | 'gone' | 'silent'> {
  const { life, scheduler, peer: find } = from
  const lost = life.random.chance(life.lost.hints)
  return new Promise((resolve, reject) => {
    const timer = life.after(answerMsMax, () => resolve('silent'))
    const answered = (act: () => void): void => {
      const peer = find(owner)
      if (life.cut === 'answers' || life.random.chance(life.lost.hints) || peer === undefined) return
      scheduler.after(life.way(), () =>
        life.deliver(() => {
          timer.cancel()
          act()
        }),
      )
    }
    if (lost || life.cut === 'requests') return
    scheduler.after(life.way(), () => {
      const peer = find(owner)
      if (peer === undefined || !peer.life.alive) {
        life.deliver(() => {
          timer.cancel()
          resolve('gone')
        })
        return
      }
      if (peer.life.cut !== 'none') return
      peer.life.deliver(() => {
        void (async () => carryOut(peer))().then(
          (value) => answered(() => resolve(value)),
          (error: unknown) => answered(() => reject(error as Error)),
        )
      })
    })
  })
}
