/**
 * A value for each owner, made when it is first asked for, which goes with the owner. For objects of drivers: nothing is written on them, as
 * they may be frozen or a proxy.
 */
export function perOwner<Owner extends object, Value>(make: (owner: Owner) => Value): (owner: Owner) => Value {
  const values = new WeakMap<Owner, Value>()
  return (owner) => {
    let value = values.get(owner)
    if (value === undefined) values.set(owner, (value = make(owner)))
    return value
  }
}
