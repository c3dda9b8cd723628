// The name of the user at this machine, from the operating system.
import { userInfo } from 'node:os'

export function osUser(): string {
  try {
    return userInfo().username
  } catch {
    return 'somebody' // a user id without a name, as in a container
  }
}
