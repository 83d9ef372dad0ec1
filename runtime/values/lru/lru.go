// Package lru keeps values of known size for later use, within one budget of bytes that several owners
// share.
package lru

import (
	"container/list"
	"sync"
)

// Cache is such a set of values. When it exceeds its budget, the owner whose values take the most bytes
// loses the one that it has not used for the longest time. So each of n owners can keep an nth of the
// budget, whatever the others do, and more while they need less.
type Cache struct {
	budget int64

	mu     sync.Mutex
	used   int64
	owners map[string]*owner
}

// Key identifies a value.
type Key struct {
	// Owner is the definition that the value is kept for.
	Owner string
	// Group is what is deleted together, and ID tells the values of a group apart. Both are comparable.
	Group, ID any
}

// Usage is what an owner has.
type Usage struct {
	Bytes     int64
	Evictions uint64 // of its values, since it was first seen
}

// owner is the values of one owner.
type owner struct {
	Usage
	order  *list.List // of *entry, the last used first
	groups map[any]map[any]*list.Element
}

type entry struct {
	key   Key
	value any
	bytes int64
}

// New returns an empty Cache.
func New(budget int64) *Cache { return &Cache{budget: budget, owners: map[string]*owner{}} }

// Get returns a value and whether there is one.
func (c *Cache) Get(key Key) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owners[key.Owner]
	if o == nil {
		return nil, false
	}
	element := o.groups[key.Group][key.ID]
	if element == nil {
		return nil, false
	}
	o.order.MoveToFront(element)
	return element.Value.(*entry).value, true
}

// Put adds a value that takes that many bytes, in place of the one with the same key. It may be evicted at
// once, if it takes more than the owner's part of the budget.
func (c *Cache) Put(key Key, value any, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owners[key.Owner]
	if o == nil {
		o = &owner{order: list.New(), groups: map[any]map[any]*list.Element{}}
		c.owners[key.Owner] = o
	}
	if old := o.groups[key.Group][key.ID]; old != nil {
		c.remove(o, old)
	}
	if bytes > c.budget {
		o.Evictions++
		return // Rather than all others.
	}
	if o.groups[key.Group] == nil {
		o.groups[key.Group] = map[any]*list.Element{}
	}
	o.groups[key.Group][key.ID] = o.order.PushFront(&entry{key: key, value: value, bytes: bytes})
	o.Bytes += bytes
	c.used += bytes
	for c.used > c.budget {
		most := c.largest()
		c.remove(most, most.order.Back())
		most.Evictions++
	}
}

// largest returns the owner whose values take the most bytes.
func (c *Cache) largest() *owner {
	var most *owner
	for _, o := range c.owners {
		if most == nil || o.Bytes > most.Bytes {
			most = o
		}
	}
	return most
}

func (c *Cache) remove(o *owner, element *list.Element) {
	e := o.order.Remove(element).(*entry)
	o.Bytes -= e.bytes
	c.used -= e.bytes
	delete(o.groups[e.key.Group], e.key.ID)
	if len(o.groups[e.key.Group]) == 0 {
		delete(o.groups, e.key.Group)
	}
}

// Len returns the number of values in a group.
func (c *Cache) Len(ownerName string, group any) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.owners[ownerName]; o != nil {
		return len(o.groups[group])
	}
	return 0
}

// DeleteFunc deletes the values of a group for which del returns true.
func (c *Cache) DeleteFunc(ownerName string, group any, del func(id, value any) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owners[ownerName]
	if o == nil {
		return
	}
	for id, element := range o.groups[group] {
		if del(id, element.Value.(*entry).value) {
			c.remove(o, element)
		}
	}
}

// DeleteGroups deletes the groups of an owner for which del returns true.
func (c *Cache) DeleteGroups(ownerName string, del func(group any) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owners[ownerName]
	if o == nil {
		return
	}
	for group, elements := range o.groups {
		if !del(group) {
			continue
		}
		for _, element := range elements {
			c.remove(o, element)
		}
	}
}

// DeleteOwner deletes all values of an owner, and its Usage.
func (c *Cache) DeleteOwner(ownerName string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.owners[ownerName]; o != nil {
		c.used -= o.Bytes
		delete(c.owners, ownerName)
	}
}

// Usage returns what each owner has.
func (c *Cache) Usage() map[string]Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]Usage, len(c.owners))
	for name, o := range c.owners {
		all[name] = o.Usage
	}
	return all
}
