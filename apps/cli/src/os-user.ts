// Who is at this machine, as the operating system says.
import { userInfo } from 'node:os'

export function osUser(): string {
  try {
    return userInfo().username
  } catch {
    return 'somebody' // a user id without a name, as in a container
  }
}
