#!/usr/bin/env bash
# Runs the tests of package tool, and of the packages below it that confine commands, on a
# kernel of Debian, in a virtual machine without hardware support (QEMU's TCG), as an
# ordinary user with a delegated control group. Not a part of CI.
#
#   scripts/kernel-test.sh [--suite bookworm|trixie] [--no-userns] [--run REGEXP] [--keep DIR]
#
# --suite      the release whose kernel and programs are used: bookworm has
#              Linux 6.1, trixie 6.12 (the default)
# --no-userns  forbids user namespaces, as systems with AppArmor's restriction do
# --run        the tests (default: all)
# --keep       a directory in which downloads are kept for later runs
#
# It needs apt-get, dpkg-deb, xz, Go, Debian's archive keyring and qemu-system-x86. It
# installs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=trixie userns=1 run=. keep=
while [ $# -gt 0 ]; do
	case $1 in
	--suite) suite=$2; shift 2 ;;
	--no-userns) userns=0; shift ;;
	--run) run=$2; shift 2 ;;
	--keep) keep=$2; shift 2 ;;
	*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
	esac
done
programs=(bash bubblewrap busybox-static coreutils diffutils findutils gawk git grep gzip hostname iproute2 mount procps python3 sed tar util-linux)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
keep=${keep:-$work/keep}
state=$keep/$suite
mkdir -p "$state"/{lists,cache/archives}/partial "$work"/{root,kernel,boot/bin}

# Download the packages with a separate apt configuration, without changing the
# system's.
: >"$state/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$state/sources.list"
apt() {
	apt-get -qq -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::status="$state/status" \
		-o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" -o Debug::NoLocking=1 -o APT::Architecture=amd64 \
		-o APT::Architectures=amd64 -o APT::Install-Recommends=0 -o APT::Sandbox::User= "$@"
}
apt update
kernel=$(apt -s install linux-image-cloud-amd64 | awk '$1 == "Inst" && $2 ~ /^linux-image-[0-9]/ { print $2 }')
apt -y --download-only install "${programs[@]}"
(cd "$state" && { compgen -G "${kernel}_*.deb" >/dev/null || apt download "$kernel"; })

# Programs. /bin, /lib and the like are links into /usr.
for dir in bin sbin lib lib64; do
	mkdir -p "$work/root/usr/$dir"
	ln -s "usr/$dir" "$work/root/$dir"
done
for deb in "$state"/cache/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$work/root" --keep-directory-symlink --no-same-owner --exclude './usr/share/doc' --exclude './usr/share/man' --exclude './usr/share/locale' --exclude './usr/lib/x86_64-linux-gnu/perl*' --exclude './usr/share/perl*' --exclude './usr/share/i18n' --exclude './dev'
done
ln -sf bash "$work/root/bin/sh"
ln -sf gawk "$work/root/bin/awk"
mkdir -p "$work/root/src" "$work/root/home/tester" "$work/root"/{proc,sys,dev,tmp,run,root}
printf 'root:x:0:0::/root:/bin/bash\ntester:x:1000:1000::/home/tester:/bin/bash\n' >"$work/root/etc/passwd"
printf 'root:x:0:\ntester:x:1000:\n' >"$work/root/etc/group"
for package in tool tool/internal/confine tool/internal/group; do
	mkdir -p "$work/root/src/$package"
	CGO_ENABLED=0 go test -c -tags kerneltest -o "$work/root/src/$package/package.test" "./$package"
done

cat >"$work/root/start" <<'START'
#!/bin/bash
# The second stage of the boot, as root in the file system of the tests.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/tester LANG=C.UTF-8
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts /dev/pts
ln -sf pts/ptmx /dev/ptmx
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin; ln -sf /proc/self/fd/1 /dev/stdout; ln -sf /proc/self/fd/2 /dev/stderr
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=0755 run /run
mkdir -p /var/tmp /run/user/1000
chmod 1777 /tmp /var/tmp
chown 1000:1000 /run/user/1000
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t securityfs security /sys/kernel/security
ip link set lo up
chown -R tester:tester /home/tester /src
. /options
[ "$userns" = 1 ] || echo 0 >/proc/sys/kernel/unprivileged_userns_clone
# A control group for the tests, as a service manager would delegate it.
echo '+memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/service
echo '+memory +pids' >/sys/fs/cgroup/service/cgroup.subtree_control
group=/sys/fs/cgroup/service/tests
mkdir $group
chown tester $group $group/cgroup.procs $group/cgroup.subtree_control $group/cgroup.threads
echo "kernel-test: $(uname -r), security modules $(cat /sys/kernel/security/lsm), user namespaces $userns"
failed=0
for package in tool tool/internal/confine tool/internal/group; do
	echo "kernel-test: $package"
	(
		cd /src/$package
		echo $BASHPID >$group/cgroup.procs
		exec setpriv --reuid 1000 --regid 1000 --clear-groups ./package.test -test.v -test.timeout 40m -test.run "$run" </dev/null
	) 2>&1 || failed=$?
done
echo "kernel-test: exit $failed"
sync
echo o >/proc/sysrq-trigger
sleep 60
START
chmod +x "$work/root/start"
printf 'userns=%q\nrun=%q\n' "$userns" "$run" >"$work/root/options"
tar -c -C "$work/root" --owner=0 --group=0 . >"$work/boot/root.tar"

# The kernel and the first stage of the boot.
dpkg-deb -x "$state/$kernel"_*.deb "$work/kernel"
busybox=$work/root/bin/busybox
cp "$busybox" "$work/boot/bin/"
module=$(find "$work/kernel" -name 'overlay.ko*')
case $module in
*.xz) xz -dc "$module" >"$work/boot/overlay.ko" ;;
*) cp "$module" "$work/boot/overlay.ko" ;;
esac
cat >"$work/boot/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /new
$b insmod /overlay.ko
# Namespaces call pivot_root, which the initial file system does not allow.
$b mount -t tmpfs -o mode=0755,size=80% root /new
$b tar -x -f /root.tar -C /new
$b rm /root.tar
exec $b switch_root /new /start
INIT
chmod +x "$work/boot/init"
(cd "$work/boot" && find . | "$busybox" cpio -o -H newc 2>/dev/null) >"$work/boot.cpio"

log=$work/log
# QEMU 7.2 computes the flags of cmpxchg16b wrong.
timeout 3000 qemu-system-x86_64 -accel tcg,thread=multi -cpu qemu64,-cx16 -smp 2 -m 3072 -nodefaults -nographic -no-reboot \
	-serial stdio -kernel "$work"/kernel/boot/vmlinuz-* -initrd "$work/boot.cpio" \
	-append "console=ttyS0 quiet panic=-1 oops=panic" </dev/null | tr -d '\r' | tee "$log"
grep -q '^kernel-test: exit 0$' "$log"
